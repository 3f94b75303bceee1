// Wraps a new value of an access key.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { PlatformNames } from "@postern/api/platform-names";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { badRequestError } from "@postern/apimachinery/meta/api-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { type WrapDeps, wrapCredential } from "../../../wrapped-values/wrap-credential.ts";
import { ownerOf } from "../../access-key-owner.ts";
import type { AccessKeyIndex } from "../../index/access-key-index.ts";

export type WrapKeyDeps = WrapDeps & {
  readonly names: PlatformNames;
  readonly keys: Pick<AccessKeyIndex, "byName">;
};

/** For `status.wrapped`. `value` is what the key has by now. Rejects with ApiError 400 where a Secret receives it as well, and 403 without room. */
export async function wrapKey(
  { metadata, spec = {}, status }: OwnedAccessKey,
  value: string,
  validMs: number,
  context: RequestContext,
  deps: WrapKeyDeps,
): Promise<JsonObject> {
  if (spec.secretRef !== undefined) throw wrappedTwiceError();
  const { name = "", uid = "" } = metadata;
  const end = status?.expirationTimestamp;
  return await wrapCredential(
    context,
    {
      owner: ownerOf(spec) ?? { kind: "subject", name: "" },
      subject: { kind: "OwnedAccessKey", name, uid },
      credential: { keyName: name, keyUid: uid, keyID: deps.keys.byName(name)?.id ?? "" },
      content: { accessKey: value, name, ...(typeof end === "string" ? { expirationTimestamp: end } : {}) },
      validMs,
    },
    deps,
  );
}

export const wrappedTwiceError = () =>
  badRequestError("wrap: not possible with spec.secretRef, whose Secret receives the value");
