"""The part of libghostty-vt's C interface that we call, and the compiler of its loader.

The text is written against ghostty 6467b1dab, the revision that pyghostty 0.1.3 bundles.
It differs from that in two points: enums and handles are plain ints and pointers, and the
union in `GhosttyPoint` is written out, since libffi cannot pass a union by value but
passes a struct of the same layout the same way.

cffi needs 50 ms and 2 MB to parse C at import. So the text is compiled once into
`compiled.py`, which loads in 2 ms; after a change here run
`python -m agent_pty.emulator.declarations`. A test fails if you forget.
"""

from __future__ import annotations

from pathlib import Path

_HEADER = """\
\"\"\"Written by declarations.py: do not edit.\"\"\"

# mypy: ignore-errors
# ruff: noqa: E501, Q000
# fmt: off
"""
COMPILED = Path(__file__).with_name("compiled.py")

TERMINAL = """
typedef struct { const uint8_t *ptr; size_t len; } GhosttyString;
typedef struct { uint8_t r, g, b; } GhosttyColorRgb;
typedef struct { uint16_t mode; bool value; } GhosttyTerminalModeConfig;

enum {
  GHOSTTY_TERMINAL_OPT_USERDATA = 0,
  GHOSTTY_TERMINAL_OPT_WRITE_PTY = 1,
  GHOSTTY_TERMINAL_OPT_BELL = 2,
  GHOSTTY_TERMINAL_OPT_XTVERSION = 4,
  GHOSTTY_TERMINAL_OPT_TITLE_CHANGED = 5,
  GHOSTTY_TERMINAL_OPT_SIZE = 6,
  GHOSTTY_TERMINAL_OPT_COLOR_SCHEME = 7,
  GHOSTTY_TERMINAL_OPT_DEVICE_ATTRIBUTES = 8,
  GHOSTTY_TERMINAL_OPT_COLOR_FOREGROUND = 11,
  GHOSTTY_TERMINAL_OPT_COLOR_BACKGROUND = 12,
  GHOSTTY_TERMINAL_OPT_COLOR_CURSOR = 13,
  GHOSTTY_TERMINAL_OPT_COLOR_PALETTE = 14,
  GHOSTTY_TERMINAL_OPT_KITTY_IMAGE_STORAGE_LIMIT = 15,
  GHOSTTY_TERMINAL_OPT_APC_MAX_BYTES = 19,
  GHOSTTY_TERMINAL_OPT_GLYPH_PROTOCOL = 24,
  GHOSTTY_TERMINAL_OPT_PWD_CHANGED = 25,
  GHOSTTY_TERMINAL_OPT_CLIPBOARD_WRITE = 26,
  GHOSTTY_TERMINAL_OPT_DESKTOP_NOTIFICATION = 29,
  GHOSTTY_TERMINAL_OPT_PROGRESS_REPORT = 30,
  GHOSTTY_TERMINAL_OPT_CONTINUATION_MAX_BYTES = 31,
  GHOSTTY_TERMINAL_OPT_TITLE_REPORT = 32,
  GHOSTTY_TERMINAL_OPT_TERMINFO_NAME = 37,
  GHOSTTY_TERMINAL_OPT_CLIPBOARD_WRITE_MAX_BYTES = 39,
};

enum {
  GHOSTTY_TERMINAL_DATA_COLS = 1,
  GHOSTTY_TERMINAL_DATA_ROWS = 2,
  GHOSTTY_TERMINAL_DATA_CURSOR_X = 3,
  GHOSTTY_TERMINAL_DATA_CURSOR_Y = 4,
  GHOSTTY_TERMINAL_DATA_CURSOR_PENDING_WRAP = 5,
  GHOSTTY_TERMINAL_DATA_ACTIVE_SCREEN = 6,
  GHOSTTY_TERMINAL_DATA_CURSOR_VISIBLE = 7,
  GHOSTTY_TERMINAL_DATA_KITTY_KEYBOARD_FLAGS = 8,
  GHOSTTY_TERMINAL_DATA_TITLE = 12,
  GHOSTTY_TERMINAL_DATA_PWD = 13,
  GHOSTTY_TERMINAL_DATA_SCROLLBACK_ROWS = 15,
  GHOSTTY_TERMINAL_DATA_MODE = 37,
};

int ghostty_terminal_new(const void *allocator, void **terminal, uint16_t cols, uint16_t rows);
void ghostty_terminal_free(void *terminal);
int ghostty_terminal_resize(void *terminal, uint16_t cols, uint16_t rows,
                            uint32_t cell_width_px, uint32_t cell_height_px);
int ghostty_terminal_set(void *terminal, int option, const void *value);
int ghostty_terminal_get(void *terminal, int data, void *out);
void ghostty_terminal_vt_write(void *terminal, const uint8_t *data, size_t len);
"""

EFFECTS = """
typedef struct {
  uint16_t conformance_level;
  uint16_t features[64];
  size_t num_features;
  uint16_t device_type, firmware_version, rom_cartridge;
  uint32_t unit_id;
} GhosttyDeviceAttributes;

typedef struct {
  uint16_t rows, columns;
  uint32_t cell_width, cell_height;
} GhosttySizeReportSize;

typedef struct { GhosttyString mime, data; } GhosttyClipboardContent;
typedef struct { size_t size; int result; bool remember; } GhosttyClipboardWriteReply;
typedef struct GhosttyClipboardWrite {
  size_t size;
  int location;
  const GhosttyClipboardContent *contents;
  size_t contents_len;
  GhosttyString name;
  bool granted, can_remember;
  const void *ctx;
  void (*reply)(const struct GhosttyClipboardWrite *, const GhosttyClipboardWriteReply *);
} GhosttyClipboardWrite;

typedef struct {
  size_t size;
  GhosttyString title, body;
} GhosttyTerminalDesktopNotification;

typedef struct { size_t size; int state; int8_t progress; } GhosttyTerminalProgressReport;
"""

SCREEN = """
typedef struct { int tag, _gap; uint16_t x; uint32_t y; uint64_t _rest; } GhosttyPoint;
typedef struct { size_t size; void *node; uint16_t x, y; } GhosttyGridRef;
typedef struct { size_t size; GhosttyGridRef start, end; bool rectangle; } GhosttySelection;

typedef struct {
  size_t size;
  bool cursor, style, hyperlink, protection, kitty_keyboard, charsets;
} GhosttyFormatterScreenExtra;
typedef struct {
  size_t size;
  bool palette, modes, scrolling_region, tabstops, pwd, keyboard;
  GhosttyFormatterScreenExtra screen;
} GhosttyFormatterTerminalExtra;
typedef struct {
  size_t size;
  int emit;
  bool unwrap, trim;
  GhosttyFormatterTerminalExtra extra;
  const GhosttySelection *selection;
} GhosttyFormatterTerminalOptions;

void ghostty_free(const void *allocator, uint8_t *ptr, size_t len);
int ghostty_terminal_grid_ref(void *terminal, GhosttyPoint point, GhosttyGridRef *out);
int ghostty_grid_ref_hyperlink_uri(const GhosttyGridRef *ref, uint8_t *buf, size_t buf_len,
                                   size_t *out_len);
int ghostty_formatter_terminal_new(const void *allocator, void **formatter, void *terminal,
                                   GhosttyFormatterTerminalOptions options);
int ghostty_formatter_format_alloc(void *formatter, const void *allocator,
                                   uint8_t **out_ptr, size_t *out_len);
void ghostty_formatter_free(void *formatter);

typedef struct {
  int tag;
  union { uint8_t palette; GhosttyColorRgb rgb; uint64_t _padding; } value;
} GhosttyStyleColor;
typedef struct {
  size_t size;
  GhosttyStyleColor fg_color, bg_color, underline_color;
  bool bold, italic, faint, blink, inverse, invisible, strikethrough, overline;
  int underline;
} GhosttyStyle;
typedef struct { const uint64_t *ptr; size_t len; } GhosttyCellsView;

enum {
  GHOSTTY_CELL_DATA_CODEPOINT = 1,
  GHOSTTY_CELL_DATA_CONTENT_TAG = 2,
  GHOSTTY_CELL_DATA_WIDE = 3,
  GHOSTTY_CELL_DATA_STYLE_ID = 6,
  GHOSTTY_CELL_DATA_HAS_HYPERLINK = 7,
  GHOSTTY_CELL_DATA_COLOR_PALETTE = 10,
  GHOSTTY_CELL_DATA_COLOR_RGB = 11,
};
enum {
  GHOSTTY_RENDER_STATE_DATA_ROW_ITERATOR = 4,
  GHOSTTY_RENDER_STATE_DATA_CURSOR_VISUAL_STYLE = 10,
  GHOSTTY_RENDER_STATE_DATA_CURSOR_BLINKING = 12,
  GHOSTTY_RENDER_STATE_ROW_DATA_CELLS = 3,
  GHOSTTY_RENDER_STATE_ROW_DATA_CELLS_RAW = 5,
  GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_STYLE = 2,
  GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_GRAPHEMES_LEN = 3,
  GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_GRAPHEMES_BUF = 4,
};

int ghostty_cell_get(uint64_t cell, int data, void *out);
int ghostty_render_state_new(const void *allocator, void **state);
void ghostty_render_state_free(void *state);
int ghostty_render_state_update(void *state, void *terminal);
int ghostty_render_state_get(void *state, int data, void *out);
int ghostty_render_state_row_iterator_new(const void *allocator, void **out);
void ghostty_render_state_row_iterator_free(void *iterator);
bool ghostty_render_state_row_iterator_next(void *iterator);
int ghostty_render_state_row_get(void *iterator, int data, void *out);
int ghostty_render_state_row_cells_new(const void *allocator, void **out);
void ghostty_render_state_row_cells_free(void *cells);
int ghostty_render_state_row_cells_select(void *cells, uint16_t x);
int ghostty_render_state_row_cells_get(void *cells, int data, void *out);
"""

INPUT = """
typedef struct { float x, y; } GhosttyMousePosition;
typedef struct {
  size_t size;
  uint32_t screen_width, screen_height, cell_width, cell_height;
  uint32_t padding_top, padding_bottom, padding_right, padding_left;
} GhosttyMouseEncoderSize;

enum {
  GHOSTTY_KEY_ACTION_PRESS = 1,
  GHOSTTY_MOUSE_ENCODER_OPT_SIZE = 2,
  GHOSTTY_MOUSE_ENCODER_OPT_ANY_BUTTON_PRESSED = 3,
};

int ghostty_key_event_new(const void *allocator, void **event);
void ghostty_key_event_free(void *event);
void ghostty_key_event_set_action(void *event, int action);
void ghostty_key_event_set_key(void *event, int key);
void ghostty_key_event_set_mods(void *event, uint16_t mods);
void ghostty_key_event_set_consumed_mods(void *event, uint16_t mods);
void ghostty_key_event_set_utf8(void *event, const char *utf8, size_t len);
void ghostty_key_event_set_unshifted_codepoint(void *event, uint32_t codepoint);
int ghostty_key_encoder_new(const void *allocator, void **encoder);
void ghostty_key_encoder_free(void *encoder);
void ghostty_key_encoder_setopt_from_terminal(void *encoder, void *terminal);
int ghostty_key_encoder_encode(void *encoder, void *event, char *buf, size_t size, size_t *len);

int ghostty_mouse_event_new(const void *allocator, void **event);
void ghostty_mouse_event_free(void *event);
void ghostty_mouse_event_set_action(void *event, int action);
void ghostty_mouse_event_set_button(void *event, int button);
void ghostty_mouse_event_set_mods(void *event, uint16_t mods);
void ghostty_mouse_event_set_position(void *event, GhosttyMousePosition position);
int ghostty_mouse_encoder_new(const void *allocator, void **encoder);
void ghostty_mouse_encoder_free(void *encoder);
void ghostty_mouse_encoder_setopt(void *encoder, int option, const void *value);
void ghostty_mouse_encoder_setopt_from_terminal(void *encoder, void *terminal);
int ghostty_mouse_encoder_encode(void *encoder, void *event, char *buf, size_t size, size_t *len);
"""

SNAPSHOT = """
enum {
  GHOSTTY_SNAPSHOT_DECODER_OPT_MAX_CONTINUATION_BYTES = 0,
  GHOSTTY_SNAPSHOT_DECODER_OPT_RETAIN_CONTINUATION = 1,
  GHOSTTY_SNAPSHOT_DECODER_DATA_SOURCE_OFFSET = 2,
};

int ghostty_snapshot_encode_alloc(void *terminal, const void *allocator,
                                  uint8_t **out_ptr, size_t *out_len);
int ghostty_snapshot_decoder_new_buf(const void *allocator, void **decoder,
                                     const uint8_t *ptr, size_t len);
void ghostty_snapshot_decoder_free(void *decoder);
int ghostty_snapshot_decoder_set(void *decoder, int option, const void *value);
int ghostty_snapshot_decoder_get(void *decoder, int data, void *out);
int ghostty_snapshot_decoder_decode(void *decoder, void **terminal);
"""


def compile_to(path: Path) -> None:
    """Write the loader for the declarations above to *path*."""
    # Imported here because only the developer who changes this file pays for it.
    from cffi import FFI  # noqa: PLC0415

    ffi = FFI()
    ffi.cdef(TERMINAL + EFFECTS + SCREEN + INPUT + SNAPSHOT)
    ffi.set_source("agent_pty.emulator.compiled", None)
    ffi.emit_python_code(str(path))
    path.write_text(_HEADER + path.read_text("utf-8"), "utf-8")


if __name__ == "__main__":
    compile_to(COMPILED)
