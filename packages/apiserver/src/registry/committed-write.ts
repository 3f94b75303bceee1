// A committed write of a client, before the response.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "../cache/cached-object.ts";

export type CommittedWrite = {
  readonly verb: "create" | "update";
  /** As it was written, with what is shown of a new one this once. */
  readonly object: CachedObject;
  /** The object as the client wanted it. It has passed the schema. */
  readonly submitted: KubeObject;
  readonly created: boolean;
  readonly dryRun: boolean;
  /** Takes a creation back. */
  undo(): Promise<void>;
};
