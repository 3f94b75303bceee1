// Errors of the server beside the fields that they are about.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { StatusCause } from "@postern/apimachinery/meta/status";
import { sentence, t } from "../../texts/text.tsx";

/** The error for the field at a path, such as `spec.issuer.url`. */
export type ErrorAt = (path: string) => string | undefined;

/** Assigns each cause of an error to its field. `arePlaced`: all causes are about one of `paths`. */
export function placeErrors(error: Error | null, paths: readonly string[]) {
  const causes = causesOf(error);
  const found = new Map<string, string[]>();
  let left = causes.length;
  for (const cause of causes) {
    const { field = "" } = cause;
    // A cause that is about several fields is shown at the first of them.
    const path = paths.find((each) => isWithin(field, each)) ?? paths.find((each) => isWithin(each, field));
    if (path === undefined) continue;
    left--;
    found.set(path, [...(found.get(path) ?? []), wordsOf(cause)]);
  }
  const at: ErrorAt = (path) => found.get(path)?.join(" ");
  return { at, arePlaced: causes.length > 0 && left === 0 };
}

const TAKEN = "AlreadyExists";

function causesOf(error: Error | null): readonly StatusCause[] {
  if (!isApiError(error)) return [];
  // AlreadyExists has no causes.
  if (error.reason === "AlreadyExists") return [{ field: "metadata.name", reason: TAKEN, message: error.message }];
  return (error.details?.causes ?? []).filter(({ field = "" }) => field !== "");
}

/** Names have rules that people need not know in the words of Kubernetes. */
function wordsOf({ field, reason, message = "" }: StatusCause): string {
  if (reason === TAKEN) return t("form.error.taken");
  const isName = field === "metadata.name";
  if (isName && reason === "FieldValueRequired") return t("form.error.noName");
  // Names of some kinds have other rules.
  if (isName && message.includes("RFC 1123")) return t("form.error.name");
  // Code and names of fields stay as they are.
  return /^[a-z]+ /.test(message) ? sentence(message) : message;
}

const isWithin = (path: string, outer: string): boolean =>
  path === outer || path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`);
