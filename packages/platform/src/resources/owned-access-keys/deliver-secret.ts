// Delivers the value of a key: into the Secret of spec.secretRef, or in the response to a create. An apply does not return the value, and warns if
// nothing else receives it.

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ClientWrite } from "@postern/apiserver/registry/client-write";
import { LAST_APPLIED, specOf, withoutSecrets } from "../../access-keys/secret-fields.ts";
import type { OwnedAccessKey } from "../../api/owned-access-key.ts";
import { deliverValue, type SecretDeliveryDeps } from "./secret-delivery.ts";

const readSecretRef = createMemberReader({ spec: { secretRef: true } });

const NOT_PRINTED =
  "spec.secretRef: unset, so the value of the access key is only in the response to this request, and kubectl apply does not print it";
const NOT_SHOWN =
  "spec.secretRef: unset, so the value of the access key was not returned: rotate the key to get one, or set a Secret that receives it";

/** For the `deliver` of a resource. */
export const secretDelivery =
  (deps: SecretDeliveryDeps) =>
  async (write: ClientWrite, { warnings }: RequestContext): Promise<CachedObject> => {
    const { object, created, submitted } = write;
    if (write.dryRun) return created && write.verb === "update" ? withoutKey(object) : object;
    const chosen = valueIn(submitted);
    const hasSecret = specOf(object.read(readSecretRef) as KubeObject)["secretRef"] !== undefined;
    if (!created) {
      if (hasSecret && chosen !== "") await deliverValue(keyIn(object), chosen, deps);
      return object;
    }
    if (hasSecret) await deliverNew(write, valueIn(keyIn(object)) || chosen, deps);
    if (write.verb === "update") {
      if (!hasSecret && chosen === "") warnings.add(NOT_SHOWN);
      return withoutKey(object);
    }
    const isApplied = submitted.metadata.annotations?.[LAST_APPLIED] !== undefined;
    if (!hasSecret && chosen === "" && isApplied) warnings.add(NOT_PRINTED);
    return object;
  };

/** A key whose value was never delivered is useless. */
async function deliverNew(write: ClientWrite, value: string, deps: SecretDeliveryDeps): Promise<void> {
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

/** Of a body too that has not passed its schema: patches are checked in the store. */
function valueIn(object: KubeObject): string {
  const { key } = isJsonObject(object) ? specOf(object) : {};
  return typeof key === "string" ? key : "";
}
