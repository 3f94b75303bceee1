// The output of a recording as a terminal may get it. A container wrote it: it must not make the terminal answer, type, or reach the clipboard.
// biome-ignore-all lint/suspicious/noControlCharactersInRegex: they are what this is about
// Source: ECMA-48, and xterm's control sequences

/** Sequences that move the cursor, erase, color and scroll. All others are dropped. */
const ALLOWED =
  /^\x1b(?:\[[\d;:]*[@A-HJ-MPSTXZ`adefGmrsu]|\[\?(?:1|7|12|25|47|1047|1048|1049)[hl]|[78DEHM=>]|[()][0-2AB])$/;
/** Text, a line end and the like, or a whole sequence. As on a terminal, CAN, SUB and the next sequence end a string, too. */
const TOKEN =
  /[^\x00-\x1f\x7f-\x9f]+|[\x07-\x0f]|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[()][ -~]|\x1b[\]PX^_][^\x07\x18\x1a\x1b]*(?:\x07|(?=[\x18\x1a\x1b]))|\x1b[ #%*+./-]*[0-OQ-WYZ\\`-~]/y;
/** A sequence whose end is in the next piece. */
const CUT = /\x1b(?:\[[0-?]*[ -/]*|[()]|[\]PX^_][^\x07\x18\x1a\x1b]*|[ #%*+./-]*)?$/y;
const STRING = /^\x1b[\]PX^_]/;
/** Nothing that a terminal shows is this long. */
const MAX_CUT = 4 << 10;
/** Those that no text needs. */
const WITHOUT_LINES = /[\x07\x08\x0b-\x0f]/g;

/** Attributes, margins, cursor and screen as they were. */
export const TERMINAL_RESET = "\x1b[0m\x1b[r\x1b[?25h\x1b[?7h\x1b[?1l\x1b[?1049l\x1b(B\r\n";

/** Takes the output piece by piece. `keepsSequences`: for a terminal; otherwise all are dropped. */
export function terminalText(keepsSequences: boolean): (piece: string) => string {
  let held = "";
  return (piece) => {
    const text = held + piece;
    held = "";
    let shown = "";
    for (let at = 0; at < text.length; ) {
      const token = matchAt(TOKEN, text, at);
      if (token === undefined) {
        const cut = matchAt(CUT, text, at);
        if (cut !== undefined) {
          // Only the end of a string matters: held as a whole, each piece would read it again.
          held = STRING.exec(cut)?.[0] ?? (cut.length > MAX_CUT ? "" : cut);
          break;
        }
        at++;
        continue;
      }
      if (!token.startsWith("\x1b") || (keepsSequences && ALLOWED.test(token))) shown += token;
      at += token.length;
    }
    return keepsSequences ? shown : shown.replaceAll(WITHOUT_LINES, "");
  };
}

function matchAt(sticky: RegExp, text: string, at: number): string | undefined {
  sticky.lastIndex = at;
  return sticky.exec(text)?.[0];
}
