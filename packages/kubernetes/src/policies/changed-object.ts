// An object that a webhook or a policy has changed, read as a body would be.

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { runSteps } from "@postern/apimachinery/steps/steps";
import { conform } from "@postern/apiserver/endpoints/decode/decode-object";
import { checkValues } from "@postern/apiserver/endpoints/decode/parse-body";
import type { SeenRequest } from "./equivalent-versions.ts";

/** The object as it was seen. */
type Seen = Pick<SeenRequest, "seenAs" | "back"> & { readonly object: KubeObject };

/**
 * Without fields that its schema does not know, and with its defaults; undefined where nothing has changed. `refuse` makes the error for what cannot
 * be read: `leaves no metadata`.
 */
export async function readChanged(
  changed: JsonValue,
  { object, seenAs, back }: Seen,
  before: KubeObject,
  refuse: (why: string) => Error,
): Promise<KubeObject | undefined> {
  checkValues(stringifyJson(changed));
  // A patch may leave anything; only metadata is looked at before the schema is.
  const { metadata } = changed as JsonObject;
  if (typeof metadata !== "object" || metadata === null) throw refuse("leaves no metadata");
  const typed = { ...(changed as JsonObject), apiVersion: object.apiVersion, kind: object.kind } as KubeObject;
  const read = runSteps(conform(typed, seenAs));
  if ("fault" in read) throw refuse(`results in no valid ${seenAs.kind}: ${read.fault}`);
  const next = await back(read.object);
  // Ownership of fields is not the webhook's or the policy's to say.
  const { managedFields: _, ...rest } = next.metadata;
  const { managedFields } = before.metadata;
  const kept = { ...next, metadata: managedFields === undefined ? rest : { ...rest, managedFields } };
  return equalJson(kept, before) ? undefined : kept;
}
