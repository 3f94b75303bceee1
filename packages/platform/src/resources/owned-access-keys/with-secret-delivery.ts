// The value of a key on its way to whoever needs it: into the Secret of spec.secretRef, or into the answer to a create. Whoever applies is
// shown none, and is warned where nothing else receives it.

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ResourceStorage } from "@postern/apiserver/registry/resource-storage";
import { LAST_APPLIED, specOf, withoutSecrets } from "../../access-keys/secret-fields.ts";
import type { OwnedAccessKey } from "../../api/owned-access-key.ts";
import { deliverValue, type SecretDeliveryDependencies } from "./secret-delivery.ts";

const NOT_PRINTED =
  "spec.secretRef: absent, so the value of the access key stands in the answer to this request only, and kubectl apply does not print it";
const NOT_SHOWN =
  "spec.secretRef: absent, so nobody was shown the value of the access key: rotate the key to get one, or name a Secret that receives it";

export function withSecretDelivery(
  storage: Required<ResourceStorage>,
  dependencies: SecretDeliveryDependencies,
): Required<ResourceStorage> {
  /** A key whose value reaches nobody is none. */
  const deliverNew = async (created: CachedObject, value: string, context: RequestContext): Promise<void> => {
    const key = keyIn(created);
    try {
      await deliverValue(key, value, dependencies);
    } catch (error) {
      const { name = "", uid = "" } = key.metadata;
      const { signal } = new AbortController();
      await storage.delete(context.with({ signal }), "", name, { dryRun: false, preconditions: { uid } });
      throw error;
    }
  };
  return {
    ...storage,
    async create(context, namespace, object, options) {
      const created = await storage.create(context, namespace, object, options);
      if (options.dryRun) return created;
      const shown = valueIn(created.decode());
      const chosen = valueIn(object);
      if (keyIn(created).spec?.secretRef !== undefined) await deliverNew(created, shown || chosen, context);
      else if (chosen === "" && object.metadata.annotations?.[LAST_APPLIED] !== undefined)
        context.warnings.add(NOT_PRINTED);
      return created;
    },
    async update(context, namespace, name, request, options) {
      let chosen = "";
      const { transform, createWhenAbsent } = request;
      const noted = {
        ...request,
        async transform(current: KubeObject) {
          const next = await transform(current);
          chosen = valueIn(next);
          return next;
        },
        ...(createWhenAbsent === undefined
          ? {}
          : {
              async createWhenAbsent() {
                const made = await createWhenAbsent();
                chosen = valueIn(made);
                return made;
              },
            }),
      };
      const { object, created } = await storage.update(context, namespace, name, noted, options);
      const key = keyIn(object);
      const hasSecret = key.spec?.secretRef !== undefined;
      if (!options.dryRun && created) {
        if (hasSecret) await deliverNew(object, valueIn(key) || chosen, context);
        else if (chosen === "") context.warnings.add(NOT_SHOWN);
      }
      if (!options.dryRun && !created && hasSecret && chosen !== "") await deliverValue(key, chosen, dependencies);
      return { object: created ? CachedObject.fromObject(object.key, withoutSecrets(key)) : object, created };
    },
  };
}

// The store holds no other kind under this resource.
const keyIn = (object: CachedObject): OwnedAccessKey => object.decode() as OwnedAccessKey;

/** Of a body too that has not passed its schema: patches are checked in the store. */
function valueIn(object: KubeObject): string {
  const { key } = isJsonObject(object) ? specOf(object) : {};
  return typeof key === "string" ? key : "";
}
