// Lists of texts in a field with several lines.

/** One entry on each line, without empty ones. */
export const linesIn = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

export const asLines = (list: readonly string[] | undefined): string => (list ?? []).join("\n");
