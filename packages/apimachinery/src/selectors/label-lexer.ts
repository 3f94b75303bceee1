// Cuts the text of a label selector into tokens.
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

// An identifier is whatever is neither white space nor a symbol: keys and values are validated later.
const TOKEN = /[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^ \t\r\n=!(),<>\0]+))/y;

/** The tokens in order, closed by one of kind "end". A NUL character ends the text, as it does upstream. */
export function lexLabelSelector(text: string): readonly LabelToken[] {
  const tokens: LabelToken[] = [];
  const pattern = new RegExp(TOKEN);
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const [, symbol, word] = match;
    // The first group of the pattern lists exactly the symbols of LabelTokenKind.
    if (symbol !== undefined) tokens.push({ kind: symbol as LabelTokenKind, literal: symbol });
    else if (word !== undefined) {
      tokens.push({ kind: word === "in" || word === "notin" ? word : "identifier", literal: word });
    }
  }
  tokens.push({ kind: "end", literal: "" });
  return tokens;
}
