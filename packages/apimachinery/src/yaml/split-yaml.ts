// Splits a text into its YAML documents, so that each is decoded and named separately.

type YamlDocument = {
  /** The text of the document, after as many line breaks as precede it in the file: its errors name lines of the file. */
  readonly text: string;
  /** Where its content begins, counted from 1. */
  readonly line: number;
};

const BEGINS = /^---(?:\s|$)/;
const ENDS = /^\.\.\.(?:\s|$)/;
/** A line without content: blank, a comment, or what begins a document. */
const EMPTY = /^(?:\s*|---\s*)(?:#.*)?$/;

/** Documents that hold nothing but comments are left out. A JSON text is one document. */
export function splitYaml(text: string): readonly YamlDocument[] {
  const documents: YamlDocument[] = [];
  let lines: string[] = [];
  let first = 1;
  const finish = (next: number): void => {
    const content = lines.findIndex((line) => !EMPTY.test(line));
    if (content >= 0) {
      documents.push({ text: `${"\n".repeat(first - 1)}${lines.join("\n")}\n`, line: first + content });
    }
    lines = [];
    first = next;
  };
  for (const [at, line] of text.split("\n").entries()) {
    if (BEGINS.test(line) && lines.length > 0) finish(at + 1);
    if (ENDS.test(line)) finish(at + 2);
    else lines.push(line);
  }
  finish(0);
  return documents;
}
