// The tokens of a label selector. A NUL character ends the text, as it does upstream.
// Source: k8s.io/apimachinery/pkg/labels/selector.go (Lexer)

export type LabelTokenKind =
  | "end"
  | "identifier"
  | "in"
  | "notin"
  | "("
  | ")"
  | ","
  | "!"
  | "="
  | "=="
  | "!="
  | ">"
  | "<";

/** `literal` is what stood in the text; "" at its end. */
export type LabelToken = { readonly kind: LabelTokenKind; readonly literal: string };

export const END: LabelToken = { kind: "end", literal: "" };
export const NUL = 0;
export const isWhiteSpace = (code: number): boolean => code === 0x20 || code === 0x09 || code === 0x0d || code === 0x0a;
export const symbol = <K extends LabelTokenKind>(kind: K): LabelToken => ({ kind, literal: kind });
/** By character code. A list of values has a token for each comma: each look at it counts. */
const SYMBOLS: readonly (LabelToken | undefined)[] = Array.from({ length: 0x80 }, (_, code) =>
  "(),!=><".includes(String.fromCharCode(code)) ? symbol(String.fromCharCode(code) as LabelTokenKind) : undefined,
);
const EQUAL = 0x3d;
const EXCLAMATION = 0x21;
const DOUBLE_EQUAL = symbol("==");
const UNEQUAL = symbol("!=");
/** The longest symbol at this position. */
export function symbolAt(text: string, at: number): LabelToken {
  const code = text.charCodeAt(at);
  if ((code === EQUAL || code === EXCLAMATION) && text.charCodeAt(at + 1) === EQUAL) {
    return code === EQUAL ? DOUBLE_EQUAL : UNEQUAL;
  }
  return SYMBOLS[code] ?? END;
}
/** By character code: an identifier is a run of characters that are neither white space nor symbols. Keys and values are validated later. */
const ENDS_IDENTIFIER = new Uint8Array(0x80);
for (const char of " \t\r\n=!(),<>\0") ENDS_IDENTIFIER[char.charCodeAt(0)] = 1;
export const endsIdentifier = (code: number): boolean => ENDS_IDENTIFIER[code] === 1;
