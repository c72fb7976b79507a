// agent-pty: marks for node's REPL (see core/mark.py), brought in by --require.
// Rules of the file: the REPL looks and works as without it; nothing of ours is on the stack
// while the user's code runs, for node prints the whole stack; a node started from this one
// (fork, worker, nested REPL) finds nothing of ours.
'use strict';

const nonce = process.env.AGENT_PTY_NONCE;
delete process.env.AGENT_PTY_NONCE;
delete require.cache[__filename];
// `fork` hands these on.
const ours = process.execArgv.indexOf(__filename);
if (ours > 0) process.execArgv.splice(ours - 1, 2);

// A worker loads what its parent was told to load, but has no nonce.
if (nonce) hook(require('repl'));

function hook(repl) {
  const { start, REPLServer: { prototype } } = repl;
  const { displayPrompt } = prototype;
  repl.start = function first(...args) {
    repl.start = start;
    // The constructor ends by drawing the first prompt: earlier the server is not complete,
    // later that prompt has no marks.
    prototype.displayPrompt = function drawFirst(...rest) {
      prototype.displayPrompt = displayPrompt;
      mark(this);
      return this.displayPrompt(...rest);
    };
    try {
      return start.apply(this, args);
    } finally {
      prototype.displayPrompt = displayPrompt;
    }
  };
}

function mark(server) {
  let number = 0;
  let busy = true; // a line was read since the last main prompt, or none was drawn yet
  let begun = false; // C was said
  let failed = null; // whether what is evaluated threw; null: nothing was evaluated
  let reading = false; // a line is being dealt with, so nobody else can run
  let foreign = false; // the next prompt is drawn for an error that is not the command's
  let cell = null; // while a file runs: what to put back afterwards

  const say = (kind) => server.output.write(`\x1b]133;${kind};apty=${nonce}.${number}\x07`);
  const begin = () => {
    if (!begun) say('C');
    begun = true;
  };

  const draw = server.prompt;
  server.prompt = function prompt(...args) {
    // An error of a timer draws the prompt too: at the prompt it ends nothing, and while an
    // `await` is pending the command goes on.
    if (!busy || foreign) {
      foreign = false;
      return draw.apply(this, args);
    }
    if (this.getPrompt() !== this._initialPrompt) {
      draw.apply(this, args);
      return more();
    }
    if (cell) this.ignoreUndefined = cell.ignoreUndefined;
    cell = null;
    busy = begun = false;
    number += 1;
    say(`D;${failed === null ? '' : Number(failed)}`);
    draw.apply(this, args);
    return say('B');
  };

  function more() {
    begun = false;
    say('P');
  }

  server.prependListener('line', (line) => {
    busy = reading = true;
    if (server.editorMode) return;
    const command = isCommand(server, line);
    failed = command || !canFail ? null : false;
    // `.editor` runs nothing yet. Incomplete code is evaluated too, in vain: no C for it.
    if (command ? !/^\s*\.editor\b/.test(line) : isComplete(buffered(server) + line)) begin();
    const [, file] = /^\s*\.cell\s+(.*?)\s*$/.exec(line) ?? [];
    if (file) load(file);
    if (file && server.history[0] === line) server.history.shift();
  });
  server.on('line', () => {
    reading = false;
    // From node 24 on the lines of one command are edited together, without a new prompt.
    if (busy && server.line.includes('\n')) more();
  });
  // Ctrl-C at the prompt drops the line and draws a new prompt.
  server.prependListener('SIGINT', () => {
    if (!begun) failed = null;
    busy = true;
  });

  // What a timer throws was thrown to the domain; what the command throws is given to it.
  const threw = (error) => {
    foreign = busy && !reading && error?.domainThrown === true;
    if (!busy || foreign) return;
    failed = canFail;
    begin();
  };
  server._domain?.prependListener('error', threw);
  // Node 26 has no domain: there, an error of a timer ends a pending `await` for us.
  const handle = server._handleError;
  const canFail = Boolean(server._domain || handle);
  if (handle) {
    server._handleError = function handleError(error) {
      threw(error);
      return handle.call(this, error);
    };
  }

  // `.cell FILE` runs a file as one command. Not enumerable: `.help` and completion do not
  // show it.
  const command = { action() {} };
  Object.defineProperty(server.commands, 'cell', { value: command });

  function load(file) {
    try {
      const code = require('fs').readFileSync(file, 'utf8');
      // A file is all there is; of incomplete code node would wait for the rest.
      if (!isCommand(server, code) && !isComplete(code)) compile(code);
      // Bound, not called from a function of ours: see the rules.
      command.action = server.emit.bind(server, 'line', code);
      cell = { ignoreUndefined: server.ignoreUndefined };
      server.ignoreUndefined = true;
    } catch (error) {
      command.action = () => {
        failed = true;
        server.output.write(`${shown(error)}\n`);
        server.displayPrompt();
      };
    }
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
  // `.then(...)` may go on with the line before.
  return !buffered(server) || found[1] in server.commands;
}

// The REPL takes braces for an object and `await` anywhere, so each is tried. Where none fits,
// nothing runs but an error is shown, and that says C.
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
