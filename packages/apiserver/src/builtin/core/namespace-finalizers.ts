// The finalizers that a namespace keeps in its spec, beside those of its metadata.

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { stringsOf } from "../../authorization/rbac/policy-rule.ts";

/** Held by the namespace controller until the namespace is empty. */
export const NAMESPACE_FINALIZER = "kubernetes";

export const namespaceFinalizersOf = ({ spec }: KubeObject): readonly string[] =>
  isJsonObject(spec) ? stringsOf(spec["finalizers"]) : [];
