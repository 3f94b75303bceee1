// Lists of texts in a multi-line field.

/** One entry per line, without empty ones. */
export const linesIn = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

/** Names separated by commas or spaces. */
export const namesIn = (text: string): string[] => text.split(/[\s,]+/).filter((name) => name !== "");

export const asLines = (list: readonly string[] | undefined): string => (list ?? []).join("\n");
