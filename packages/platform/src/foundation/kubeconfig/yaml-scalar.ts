// Writes a text as a YAML scalar that every reader of kubeconfigs takes for the same text.
//
// kubectl reads YAML 1.1, other clients 1.2: what either could take for a number, a boolean or a date, and every
// character that either refuses or drops, has to be quoted. The `yaml` library leaves some of those bare (`0o7`, DEL, NEL).

/** Starts with a letter and holds nothing that YAML reads as syntax; `://` is the only colon followed by no name. */
const PLAIN = /^[A-Za-z](?:[A-Za-z0-9_./@=+-]|:(?=[^\s]))*$/;
/** YAML 1.1 booleans and nulls in any case; anything else made of letters is text. */
const KEYWORD = /^(?:y|n|yes|no|on|off|true|false|null)$/i;

/** The scalar: plain where that is safe, else in double quotes with everything unusual escaped. */
export function writeYamlScalar(text: string): string {
  if (PLAIN.test(text) && !KEYWORD.test(text)) return text;
  let quoted = '"';
  for (const char of text) quoted += quoteCharacter(char);
  return `${quoted}"`;
}

function quoteCharacter(char: string): string {
  if (char === '"' || char === "\\") return `\\${char}`;
  const code = char.codePointAt(0) ?? 0;
  if (code >= 0x20 && code < 0x7f) return char;
  if (code > 0xffff) return `\\U${code.toString(16).padStart(8, "0")}`;
  // Half a surrogate pair is no character: readers refuse it even when escaped.
  const scalar = code >= 0xd800 && code <= 0xdfff ? 0xfffd : code;
  return `\\u${scalar.toString(16).padStart(4, "0")}`;
}
