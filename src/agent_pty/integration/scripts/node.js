// agent-pty: marks for node's REPL (see core/mark.py), brought in by --require.
// Rules of the file: the REPL looks and works as without it; nothing of ours is on the stack
// while the user's code runs, because node prints the whole stack; a node started from this one
// (fork, worker, nested REPL) finds nothing of ours.
'use strict';

// A worker loads this file too; it has the environment as it is now.
const first = process.env.AGENT_PTY_START === 'repl';
delete process.env.AGENT_PTY_START;
const nonce = first ? readOnce(3) : '';
delete require.cache[__filename];
// `fork` passes these on.
const ours = process.execArgv.indexOf(__filename);
if (ours > 0) process.execArgv.splice(ours - 1, 2);

function readOnce(fd) {
  const { closeSync, readSync } = require('fs');
  const data = Buffer.alloc(100);
  const line = data.toString('latin1', 0, readSync(fd, data)).trim();
  closeSync(fd);
  return line;
}

function hook(repl) {
  const { start, REPLServer: { prototype } } = repl;
  const { displayPrompt } = prototype;
  repl.start = function first(...args) {
    repl.start = start;
    // The constructor ends by drawing the first prompt: earlier the server is not complete,
    // later that prompt has no marks.
    prototype.displayPrompt = function drawFirst(...rest) {
      prototype.displayPrompt = displayPrompt;
      new Marks(this).install();
      return this.displayPrompt(...rest);
    };
    try {
      return start.apply(this, args);
    } finally {
      prototype.displayPrompt = displayPrompt;
    }
  };
}

class Marks {
  number = 0;
  busy = true; // a line was read since the last main prompt, or none was drawn yet
  begun = false; // C was written
  failed = null; // whether the evaluated code threw; null: nothing was evaluated, or not known
  reading = false; // a line is being handled, so no other code can run
  foreign = false; // the next prompt is drawn for an error that is not the command's
  cell = null; // while a file runs: what to restore afterwards
  command = { action() {} }; // what `.cell` does next

  constructor(server) {
    this.server = server;
    this.canFail = Boolean(server._domain || server._handleError);
  }

  install() {
    const { server } = this;
    const draw = server.prompt.bind(server);
    server.prompt = (...args) => this.prompt(() => draw(...args));
    server.prependListener('line', (line) => this.read(line));
    server.on('line', () => this.wasRead());
    server.prependListener('SIGINT', () => this.interrupt());
    // Not enumerable: `.help` and completion do not show it.
    Object.defineProperty(server.commands, 'cell', { value: this.command });
    this.installErrors();
  }

  installErrors() {
    const { server } = this;
    // An error of a timer was thrown to the domain; an error of the command is passed to it.
    server._domain?.prependListener('error', (error) => this.threw(error?.domainThrown === true));
    // From node 26 on there is no domain, and the caller of this makes the difference.
    const handle = server._handleError?.bind(server);
    if (!handle) return;
    server._handleError = (error) => {
      this.threw(new Error().stack.includes('_fatalException'));
      return handle(error);
    };
  }

  say(kind) {
    this.server.output.write(`\x1b]133;${kind};apty=${nonce}.${this.number}\x07`);
  }

  begin() {
    if (!this.begun) this.say('C');
    this.begun = true;
  }

  more() {
    this.begun = false;
    this.say('P');
  }

  prompt(draw) {
    // An error of a timer draws the prompt too: at the prompt it ends nothing, and while an
    // `await` is pending the command continues.
    if (!this.busy || this.foreign) {
      this.foreign = false;
      draw();
    } else if (this.server.getPrompt() !== this.server._initialPrompt) {
      draw();
      this.more();
    } else {
      this.end();
      draw();
      this.say('B');
    }
  }

  end() {
    if (this.cell) this.server.ignoreUndefined = this.cell.ignoreUndefined;
    this.cell = null;
    this.busy = this.begun = false;
    this.number += 1;
    this.say(`D;${this.failed === null ? '' : Number(this.failed)}`);
  }

  read(line) {
    const { server } = this;
    this.busy = this.reading = true;
    if (server.editorMode) return;
    const command = isCommand(server, line);
    this.failed = command || !this.canFail ? null : false;
    // `.editor` runs nothing yet. Incomplete code is evaluated too, without effect: no C for it.
    if (command ? !/^\s*\.editor\b/.test(line) : isComplete(buffered(server) + line)) this.begin();
    const [, file] = /^\s*\.cell\s+(.*?)\s*$/.exec(line) ?? [];
    if (file) this.load(file);
    if (file && server.history[0] === line) server.history.shift();
  }

  wasRead() {
    this.reading = false;
    // From node 24 on the lines of one command are edited together, without a new prompt.
    if (this.busy && this.server.line.includes('\n')) this.more();
  }

  // Ctrl-C at the prompt drops the line and draws a new prompt.
  interrupt() {
    if (!this.begun) this.failed = null;
    this.busy = true;
  }

  threw(loose) {
    this.foreign = loose && this.busy && !this.reading;
    if (!this.busy || this.foreign) return;
    this.failed = true;
    this.begin();
  }

  // `.cell FILE` runs a file as one command.
  load(file) {
    const { server } = this;
    try {
      const code = require('fs').readFileSync(file, 'utf8');
      // The file is the whole command; if it is incomplete, node would wait for the rest.
      if (!isCommand(server, code) && !isComplete(code)) compile(code);
      // Bound, not called from a function of ours: see the rules.
      this.command.action = server.emit.bind(server, 'line', code);
      this.cell = { ignoreUndefined: server.ignoreUndefined };
      server.ignoreUndefined = true;
    } catch (error) {
      this.command.action = () => this.refuse(error);
    }
  }

  refuse(error) {
    this.failed = true;
    this.server.output.write(`${shown(error)}\n`);
    this.server.displayPrompt();
  }
}

// An error as the REPL shows it.
function shown(error) {
  if (!(error instanceof SyntaxError)) return error.message;
  const [, source, message] = /^.*\n([^]*?)^(SyntaxError: .*)$/m.exec(error.stack) ?? [];
  return message ? `${source}Uncaught ${message}` : `Uncaught ${error}`;
}

// The lines before this one, where they were not a whole command.
function buffered(server) {
  const symbols = Object.getOwnPropertySymbols(server);
  return server[symbols.find((each) => each.description === 'bufferedCommand')] ?? '';
}

function isCommand(server, line) {
  const found = /^\s*\.([^\s.]\S*)/.exec(line);
  if (!found || !Number.isNaN(parseFloat(line))) return false;
  // `.then(...)` may continue the line before.
  return !buffered(server) || found[1] in server.commands;
}

// The REPL takes braces for an object and `await` anywhere, so each form is tried. If none fits,
// nothing runs but an error is shown, and that writes C.
function isComplete(code) {
  const forms = [code, `(${code}\n)`, `(async () => {${code}\n})`, `(async () => (${code}\n))`];
  return forms.some((each) => {
    try {
      return compile(each) !== null;
    } catch {
      return false;
    }
  });
}

function compile(code) {
  return new (require('vm').Script)(code);
}

// A worker loads what its parent was started with, but has no nonce.
if (nonce) hook(require('repl'));
