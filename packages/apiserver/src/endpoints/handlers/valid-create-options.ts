// Reads the options of a creation from the query.

import { invalidObjectError } from "@postern/apimachinery/meta/api-error";
import { type CreateOptions, validateCreateOptions } from "@postern/apimachinery/validation/request-options";
import type { RequestContext } from "../../context/request-context.ts";
import { createOptionsOf } from "../../request/query-options.ts";

const CREATE_OPTIONS = { group: "meta.k8s.io", kind: "CreateOptions" };

/** Throws 422 with every fault found. */
export function validCreateOptions({ request }: RequestContext): CreateOptions {
  const options = createOptionsOf(request.query);
  const errors = validateCreateOptions(options);
  if (errors.length > 0) throw invalidObjectError(CREATE_OPTIONS, "", errors);
  return options;
}
