// The Secret of spec.secretRef, which receives the value of an access key on create and on rotation (ADR 35).

import type { AccessKeySpec, OwnedAccessKey } from "@postern/api/owned-access-key";
import type { PlatformNames } from "@postern/api/platform-names";
import { forbiddenRequestError, invalidObjectError, isApiError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import {
  type FieldError,
  forbiddenError,
  invalidError,
  notFoundFieldError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { isConfigMapKey, isDNS1123Label, isDNS1123Subdomain } from "@postern/apimachinery/validation/string-validators";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { createControlled, readControlled, updateControlled } from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource } from "@postern/apiserver/controllers/controller-port";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { mayWriteSecret } from "../../../authorization/may-write-secret.ts";
import type { AccessKeyIndex } from "../../index/access-key-index.ts";
import { keyReference } from "./key-reference.ts";

/** The member of the Secret's data where spec.secretRef names none. */
const DEFAULT_MEMBER = "key";

/** Maximum number of retries for conflicts on the Secret. */
const ATTEMPTS = 10;

export type SecretDeliveryDeps = {
  readonly names: Pick<PlatformNames, "managementGroup" | "key">;
  readonly authorizer: Authorizer;
  readonly keys: Pick<AccessKeyIndex, "find">;
  readonly runtime: Pick<Runtime, "clock">;
  /** The installed resources, once they are there. */
  readonly secretResource: () => ControlledResource;
  readonly namespaceResource: () => ControlledResource;
  /** Resolves when memory shows all that the store had before the call. */
  readonly lookup: { refresh(signal: AbortSignal): Promise<void> };
};

type SecretRef = NonNullable<AccessKeySpec["secretRef"]>;

type Target = { readonly namespace: string; readonly name: string; readonly member: string };

/** Undefined without one, or if validation rejects it. */
function targetOf({ namespace = "", name = "", key = DEFAULT_MEMBER }: SecretRef): Target | undefined {
  const isWhole = isDNS1123Label(namespace).length === 0 && isDNS1123Subdomain(name).length === 0;
  return isWhole ? { namespace, name, member: key } : undefined;
}

const textOf = ({ namespace, name }: Target): string => `the Secret ${JSON.stringify(`${namespace}/${name}`)}`;

export function validateSecretRef({ secretRef }: AccessKeySpec): readonly FieldError[] {
  if (secretRef === undefined) return [];
  const { namespace = "", name = "", key = DEFAULT_MEMBER } = secretRef;
  const faults = (member: string, value: string, rules: readonly string[]): readonly FieldError[] =>
    value === ""
      ? [requiredError(`spec.secretRef.${member}`)]
      : rules.map((rule) => invalidError(`spec.secretRef.${member}`, value, rule));
  return [
    ...faults("namespace", namespace, isDNS1123Label(namespace)),
    ...faults("name", name, isDNS1123Subdomain(name)),
    ...faults("key", key, isConfigMapKey(key)),
  ];
}

/**
 * Before a key gets a value: the requester has to be allowed to write the Secret itself, and a Secret of that name was made for this key
 * or does not exist. A Secret that was made for it takes `update` alone: a narrow key can rotate itself. Throws ApiError 403 or 422.
 */
export function checkDelivery(
  context: RequestContext,
  key: OwnedAccessKey,
  deps: SecretDeliveryDeps,
): Promise<void> | undefined {
  const { secretRef } = key.spec ?? {};
  const target = secretRef && targetOf(secretRef);
  return target && checkTarget(context, key, target, deps);
}

async function checkTarget(
  context: RequestContext,
  { metadata }: OwnedAccessKey,
  target: Target,
  deps: SecretDeliveryDeps,
): Promise<void> {
  const { names, namespaceResource, secretResource } = deps;
  const kind = { group: names.managementGroup, kind: "OwnedAccessKey" };
  const { name = "", uid = "" } = metadata;
  const read = async (resource: ControlledResource, of: KubeObject["metadata"]): Promise<KubeObject | undefined> =>
    await readControlled(deps, resource, { metadata: of }, context.signal);
  const secret = await read(secretResource(), { namespace: target.namespace, name: target.name });
  const isThere = secret !== undefined && isMadeFor(secret, uid, names);
  for (const verb of isThere ? (["update"] as const) : (["create", "update"] as const)) {
    if (await mayWriteSecret(verb, target, context, deps.authorizer)) continue;
    const why = `spec.secretRef: you may not ${verb} secrets in the namespace ${JSON.stringify(target.namespace)}`;
    throw forbiddenRequestError({ group: kind.group, resource: "ownedaccesskeys" }, name, why);
  }
  const namespace = await read(namespaceResource(), { name: target.namespace });
  if (namespace === undefined || isBeingDeleted(namespace)) {
    throw invalidObjectError(kind, name, [notFoundFieldError("spec.secretRef.namespace", target.namespace)]);
  }
  if (secret !== undefined && !isThere) {
    throw invalidObjectError(kind, name, [forbiddenError("spec.secretRef", notOurs(target))]);
  }
}

const notOurs = (target: Target): string => `${textOf(target)} exists, and was not created for this access key`;

/** Writes a new value. Throws ApiErrors. A value that was replaced meanwhile is left to the writer of the newer one. */
export async function deliverValue(
  { metadata, spec }: OwnedAccessKey,
  value: string,
  deps: SecretDeliveryDeps,
): Promise<void> {
  const target = targetOf(spec?.secretRef ?? {});
  if (target === undefined) return;
  const { names, keys, secretResource, lookup } = deps;
  const { name = "", uid = "" } = metadata;
  const resource = secretResource();
  // Once the key has its value, a requester that hangs up stops nothing.
  const { signal } = new AbortController();
  const place = { namespace: target.namespace, name: target.name };
  const annotation = uidAnnotation(names);
  const written = (secret: KubeObject): KubeObject => ({
    ...secret,
    data: { ...objectOf(secret["data"]), [target.member]: Buffer.from(value).toString("base64") },
  });
  for (let attempt = 1; ; attempt++) {
    try {
      const secret = await readControlled(deps, resource, { metadata: place }, signal);
      // After the Secret: a newer value from here on changes the Secret after this, or makes the write below a conflict.
      await lookup.refresh(signal);
      const found = keys.find(value);
      if (found?.uid !== uid || found.isRetiredValue === true) return;
      if (secret === undefined) {
        const made = {
          apiVersion: "v1",
          kind: "Secret",
          metadata: {
            ...place,
            annotations: { [annotation]: uid },
            ownerReferences: [keyReference({ name, uid }, names)],
          },
          type: "Opaque",
        };
        return await createControlled(deps, resource, written(made), signal);
      }
      if (!isMadeFor(secret, uid, names)) {
        const kind = { group: names.managementGroup, kind: "OwnedAccessKey" };
        throw invalidObjectError(kind, name, [forbiddenError("spec.secretRef", notOurs(target))]);
      }
      const { resourceVersion = "" } = secret.metadata;
      const transform = (current: KubeObject): KubeObject => {
        const next = written(current);
        return { ...next, metadata: { ...next.metadata, resourceVersion } };
      };
      return await updateControlled(deps, resource, secret, { transform }, signal);
    } catch (error) {
      const isRace = ["AlreadyExists", "Conflict", "NotFound"].some((reason) =>
        isApiError(error, reason as "Conflict"),
      );
      if (!isRace || attempt === ATTEMPTS) throw error;
    }
  }
}

const uidAnnotation = (names: Pick<PlatformNames, "key">): string => names.key("access-key-uid");

function isMadeFor({ metadata }: KubeObject, uid: string, names: Pick<PlatformNames, "key">): boolean {
  const { annotations = {}, ownerReferences = [] } = metadata;
  return annotations[uidAnnotation(names)] === uid && ownerReferences.some((owner) => owner.uid === uid);
}

const objectOf = (value: KubeObject[string]) =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
