// Delivers the value of an access key: into the Secret of spec.secretRef, or in the response to a create, where it may be wrapped. An apply does not
// return the value, and warns if nothing else receives it.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { isJsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { CommittedWrite } from "@postern/apiserver/registry/committed-write";
import type { Awaitable } from "@postern/apiserver/runtime/awaitable";
import { LAST_APPLIED_ANNOTATION } from "@postern/structured-merge/managedfields/last-applied";
import { wrapMsOf } from "../../../wrapped-values/wrap-request.ts";
import { specOf, withoutSecrets } from "../../chosen-values/secret-fields.ts";
import { deliverValue, type SecretDeliveryDeps } from "./delivery-secret.ts";
import { type WrapKeyDeps, wrapKey } from "./wrap-key.ts";

const NOT_PRINTED =
  "spec.secretRef: unset, so the value of the access key is only in the response to this request, and kubectl apply does not print it";
const NOT_SHOWN =
  "spec.secretRef: unset, so the value of the access key was not returned: rotate the key to get one, or set a Secret that receives it";

/** For the `deliver` of a resource. */
export const secretDelivery =
  (deps: SecretDeliveryDeps & WrapKeyDeps) =>
  (write: CommittedWrite, context: RequestContext): Awaitable<CachedObject> => {
    const { object, created, submitted } = write;
    const { warnings } = context;
    const wrapMs = write.verb === "create" ? wrapMsOf(context.request.query) : undefined;
    if (write.dryRun) return created && (write.verb === "update" || wrapMs !== undefined) ? withoutKey(object) : object;
    if (wrapMs !== undefined) return deliverWrapped(write, wrapMs, context, deps);
    const chosen = valueIn(submitted);
    if (specOf(object.decode())["secretRef"] !== undefined) return deliverInSecret(write, chosen, deps);
    if (!created) return object;
    if (write.verb === "update") {
      if (chosen === "") warnings.add(NOT_SHOWN);
      return withoutKey(object);
    }
    const isApplied = submitted.metadata.annotations?.[LAST_APPLIED_ANNOTATION] !== undefined;
    if (chosen === "" && isApplied) warnings.add(NOT_PRINTED);
    return object;
  };

/** A key whose value was never delivered is useless. */
async function deliverWrapped(
  { object, undo }: CommittedWrite,
  validMs: number,
  context: RequestContext,
  deps: WrapKeyDeps,
): Promise<CachedObject> {
  try {
    const key = keyIn(object);
    const shown = withoutSecrets(key);
    const wrapped = await wrapKey(key, valueIn(key), validMs, context, deps);
    return CachedObject.fromObject(object.key, { ...shown, status: { ...key.status, wrapped } });
  } catch (error) {
    await undo();
    throw error;
  }
}

async function deliverInSecret(write: CommittedWrite, chosen: string, deps: SecretDeliveryDeps): Promise<CachedObject> {
  const { object } = write;
  if (write.created) {
    await deliverNew(write, valueIn(keyIn(object)) || chosen, deps);
    return write.verb === "update" ? withoutKey(object) : object;
  }
  if (chosen !== "") await deliverValue(keyIn(object), chosen, deps);
  return object;
}

/** A key whose value was never delivered is useless. */
async function deliverNew(write: CommittedWrite, value: string, deps: SecretDeliveryDeps): Promise<void> {
  try {
    await deliverValue(keyIn(write.object), value, deps);
  } catch (error) {
    await write.undo();
    throw error;
  }
}

const withoutKey = (object: CachedObject): CachedObject =>
  CachedObject.fromObject(object.key, withoutSecrets(object.decode()));

// The store holds no other kind under this resource.
const keyIn = (object: CachedObject): OwnedAccessKey => object.decode() as OwnedAccessKey;

/** The value in a body, which may not have passed its schema: patches are checked in the store. */
function valueIn(object: KubeObject): string {
  const { key } = isJsonObject(object) ? specOf(object) : {};
  return typeof key === "string" ? key : "";
}
