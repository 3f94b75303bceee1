// The place of a value inside an object, kept while walking it and written out only for an error.

/** Member names and array indexes from the root down. One array serves a whole walk: push, descend, pop. */
export type ValuePath = (string | number)[];

/** `spec.groups[2]`; "" for the root. */
export function formatValuePath(path: readonly (string | number)[]): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else text += text === "" ? step : `.${step}`;
  }
  return text;
}
