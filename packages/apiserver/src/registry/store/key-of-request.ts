// The key of the object that a path names.
// Source: k8s.io/apiserver/pkg/registry/generic/registry/store.go (NamespaceKeyFunc)

import { badRequestError } from "@postern/apimachinery/meta/api-error";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { isValidPathSegmentName } from "@postern/apimachinery/validation/string-validators";
import type { StoreContext } from "./store-context.ts";

/** Throws 400 for a name that no object can have. */
export function keyOfRequest({ keys }: StoreContext, namespace: string, name: string): string {
  const faults = isValidPathSegmentName(name);
  if (faults.length > 0) throw badRequestError(`Name parameter invalid: ${quoteGo(name)}: ${faults.join(";")}`);
  return keys.of(namespace, name);
}
