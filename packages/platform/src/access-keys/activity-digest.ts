// Tells whether anything of a key but its activity has changed.

import { createHash } from "node:crypto";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";

/** Of everything but what changes with use alone. The kind is left out, since the records are served under two. */
export function digestWithoutActivity({ apiVersion: _v, kind: _k, status: _s, metadata, ...rest }: KubeObject): string {
  const { resourceVersion: _, ...meta } = metadata;
  return createHash("sha256")
    .update(stringifyJson({ metadata: meta, ...rest }))
    .digest("base64url");
}
