// Disables an access key on behalf of the server.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { CONTROLLER_WRITE, contextOf } from "@postern/apiserver/controllers/controller-port";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import type { Clock } from "@postern/apiserver/runtime/clock";
import type { AccessKeyState } from "../access-key-state.ts";
import { specOf } from "../chosen-values/secret-fields.ts";

/** In force when it resolves. `annotations` give the owner the reason. A key that is gone already is no error. */
export async function disableKey(
  { name, uid }: Pick<AccessKeyState, "name" | "uid">,
  resource: InstalledResource,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  annotations: { readonly [key: string]: string } = {},
): Promise<void> {
  const context = contextOf({ runtime: { clock } }, { verb: "update", resource, namespace: "", name }, signal);
  const update = { uid, subresource: "", transform: (current: KubeObject) => disabled(current, annotations) };
  try {
    await resource.genericStore.update(context, "", name, update, CONTROLLER_WRITE);
  } catch (error) {
    if (!isApiError(error, "NotFound")) throw error;
  }
}

function disabled(current: KubeObject, added: { readonly [key: string]: string }): KubeObject {
  const { metadata } = current;
  const annotations = { ...metadata.annotations, ...added };
  return {
    ...current,
    metadata: Object.keys(annotations).length === 0 ? metadata : { ...metadata, annotations },
    spec: { ...specOf(current), disabled: true },
  };
}
