// The finalizers in the spec of a namespace, beside those of its metadata.

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { stringsOf } from "@postern/apiserver/authorization/rbac/policy-rule";

/** Held by the namespace controller until the namespace is empty. */
export const NAMESPACE_FINALIZER = "kubernetes";

export const namespaceFinalizersOf = ({ spec }: KubeObject): readonly string[] =>
  isJsonObject(spec) ? stringsOf(spec["finalizers"]) : [];
