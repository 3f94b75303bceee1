// The strategy of kubeconfig generators: a generator gives its creator's access on, so only the creator changes what it gives.

import { withFinalizer } from "@postern/api/finalizers";
import type { KubeconfigGenerator, KubeconfigGeneratorStatus } from "@postern/api/kubeconfig-generator";
import type { PlatformNames } from "@postern/api/platform-names";
import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import {
  type FieldError,
  forbiddenError,
  invalidError,
  tooLongError,
} from "@postern/apimachinery/validation/field-error";
import {
  validateAnnotations,
  validateLabelName,
  validateLabelSelector,
  validateLabels,
} from "@postern/apimachinery/validation/labels";
import { isConfigMapKey, isDNS1123Label, isDNS1123Subdomain } from "@postern/apimachinery/validation/string-validators";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Strategy, WriteLimit } from "@postern/apiserver/registry/strategy";
import type { Foundation } from "../../../../foundation/foundation.ts";
import type { StatusWrites } from "../../../../foundation/kinds/status-writes.ts";
import { type AccessKeyOwner, ownerOfCaller, ownerUid } from "../../../access-keys/access-key-owner.ts";
import type { KeyMint } from "../../../access-keys/kinds/mint-keys.ts";
import { keyOfRequest } from "../../../access-keys/kinds/owned-access-keys/lineage.ts";
import { newAccessKeyId } from "../../../access-keys/secrets/access-key-format.ts";
import { isServerItself } from "../../../authorization/key-standing.ts";
import { mayWriteSecret } from "../../../authorization/may-write-secret.ts";
import { protectFinalizer } from "../../../authorization/protect-finalizer.ts";
import { asStanding } from "../../../authorization/standing-user.ts";
import type { Directory } from "../../../directory/directory.ts";
import { MAX_GENERATORS, MAX_TEMPLATE_SIZE } from "../../generator-limits.ts";
import { createGeneratorKey, type GeneratorKeyDeps, generatorKeyName, isLimited } from "./generator-key.ts";

export type GeneratorStrategyDeps = GeneratorKeyDeps &
  Pick<Foundation, "names" | "runtime"> & {
    readonly directory: Directory;
    readonly authorizer: Authorizer;
    readonly mint: Pick<KeyMint, "revoke">;
    readonly writes: StatusWrites;
    /** Number of generators in a namespace. */
    readonly countIn: (namespace: string) => number;
  };

type Creator = NonNullable<KubeconfigGeneratorStatus["creator"]>;

/** Held until the credentials are revoked. */
export const generatorFinalizer = ({ key }: Pick<PlatformNames, "key">): string => key("kubeconfiggenerator");

export function kubeconfigGeneratorStrategy(deps: GeneratorStrategyDeps): Strategy<KubeconfigGenerator> {
  const { names, directory, keys, mint, writes } = deps;
  const resource = { group: names.managementGroup, resource: "kubeconfiggenerators" };
  const finalizer = generatorFinalizer(names);
  /** The key that a write creates before it, by the request. */
  const wanted = new WeakMap<RequestContext, { readonly name: string; readonly owner: AccessKeyOwner }>();

  const refuse = ({ metadata }: KubeconfigGenerator, why: string) =>
    forbiddenRequestError(resource, metadata.name ?? "", why);

  /** Throws ApiError 403 for callers in the name of others, and without an access key. */
  const creatorOf = (generator: KubeconfigGenerator, context: RequestContext): Creator => {
    const { user, caller, credential } = context;
    if (user !== caller) throw refuse(generator, "a generator cannot be written in the name of another user");
    const key = credential && keys.byId(credential.id);
    if (key === undefined) throw refuse(generator, "a generator is written with an access key");
    // Readers of the Secret have another client: its tokens would be of no use to them.
    if (key.confirmation !== "") throw refuse(generator, "a generator is written with a key without spec.confirmation");
    const owner = ownerOfCaller(user, directory, names);
    const uid = ownerUid(owner, directory);
    return { ...owner, ...(uid === undefined ? {} : { uid }) };
  };

  /** A lasting object is written with standing permissions. */
  const checkSecrets = async (generator: KubeconfigGenerator, context: RequestContext): Promise<void> => {
    const standing = asStanding(context, names);
    const { namespace = "" } = generator.metadata;
    const { name } = generator.spec.secretRef;
    for (const verb of ["create", "update"] as const) {
      if (await mayWriteSecret(verb, { namespace, name }, standing, deps.authorizer)) continue;
      throw refuse(
        generator,
        `spec.secretRef: you may not ${verb} secrets in the namespace ${JSON.stringify(namespace)}`,
      );
    }
  };

  const withNewKey = (
    generator: KubeconfigGenerator,
    { creator, previous }: { readonly creator: Creator; readonly previous: string | undefined },
    context: RequestContext,
  ): KubeconfigGenerator => {
    const name = generatorKeyName(() => newAccessKeyId(deps.runtime.random));
    wanted.set(context, { name, owner: ownerOfCreator(creator) });
    const { accessKey: _, previousAccessKey: _previous, ...status } = generator.status ?? {};
    return {
      ...generator,
      status: {
        ...status,
        creator,
        accessKey: name,
        ...(previous === undefined ? {} : { previousAccessKey: previous }),
      },
    };
  };

  /** Whether the credentials may stay as they are: they have all that their creator has, and will for a while. */
  const keepsKey = (generator: KubeconfigGenerator, old: KubeconfigGenerator, context: RequestContext): boolean => {
    const maker = keyOfRequest(context, keys);
    const key = keys.byName(old.status?.accessKey ?? "");
    if (key === undefined || maker === undefined || keys.stateOf(key) !== undefined) return false;
    const left = (key.expiresAt ?? Number.POSITIVE_INFINITY) - deps.runtime.clock.now();
    const isFresh = key.expiresAt === undefined || left > (Number(key.ttl ?? key.defaultTTL ?? 0) * 1_000) / 2;
    return isFresh && generator.spec.role === old.spec.role && !isLimited(key, deps) && !isLimited(maker, deps);
  };

  return {
    allowUnconditionalUpdate: true,

    async prepareForCreate(generator, context) {
      const { status: _, ...rest } = generator;
      // The rest keeps the members that make it an object of this kind.
      const made = rest as KubeconfigGenerator;
      // A generator that the server itself makes has no creator, and gives nothing.
      if (isServerItself(context)) return made;
      const creator = creatorOf(made, context);
      await checkSecrets(made, context);
      return withNewKey(withFinalizer(made, finalizer), { creator, previous: undefined }, context);
    },

    async prepareForUpdate(submitted, old, context) {
      const generator = protectFinalizer(submitted, old, finalizer, context);
      if (writes.has(context)) return generator;
      const kept = withStatus(generator, old.status);
      if (isServerItself(context) || equalJson(givenBy(kept), givenBy(old))) return kept;
      const creator = creatorOf(kept, context);
      const before = old.status?.creator;
      if (before === undefined || !isSameCreator(creator, before))
        throw refuse(
          kept,
          `it gives the access of ${before === undefined ? "no one" : `the ${before.kind} ${JSON.stringify(before.name)}`}, who alone may change its spec: delete it, or create another`,
        );
      await checkSecrets(kept, context);
      if (keepsKey(kept, old, context)) return kept;
      const key = keys.byName(old.status?.accessKey ?? "");
      const maker = keyOfRequest(context, keys);
      const isWide = key !== undefined && maker !== undefined && !isLimited(key, deps) && !isLimited(maker, deps);
      const previous = isWide && kept.spec.role === old.spec.role ? old.status?.accessKey : undefined;
      return withNewKey(kept, { creator, previous }, context);
    },

    validate: errorsOf,
    validateUpdate: (generator, old) => [...errorsOf(generator), ...immutableErrors(generator, old)],

    limits({ metadata: { namespace = "" } }, old): readonly WriteLimit[] {
      if (old !== undefined) return [];
      return [
        {
          name: `kubeconfig generators of ${namespace}`,
          check() {
            if (deps.countIn(namespace) < MAX_GENERATORS) return;
            throw forbiddenRequestError(
              resource,
              "",
              `the project has ${MAX_GENERATORS} kubeconfig generators, which is the limit`,
            );
          },
        },
      ];
    },

    reserve(generator, context) {
      const key = wanted.get(context);
      if (key === undefined) return undefined;
      const { namespace = "", name = "" } = generator.metadata;
      const project = names.projectOf(namespace) ?? namespace;
      const displayName = `Kubeconfig generator ${project}/${name}`;
      const release = () => mint.revoke(key.name, new AbortController().signal);
      return createGeneratorKey({ ...key, displayName }, context, deps).then(() => ({
        keep: () => Promise.resolve(),
        release,
      }));
    },

    async afterUpdate({ status }, old, context) {
      if (!wanted.has(context)) return;
      const { signal } = new AbortController();
      const needed = [status?.accessKey, status?.previousAccessKey];
      for (const name of [old.status?.accessKey, old.status?.previousAccessKey])
        if (name !== undefined && !needed.includes(name)) await mint.revoke(name, signal);
    },
  };
}

export const ownerOfCreator = ({ kind, name = "" }: Creator): AccessKeyOwner => ({
  kind: kind === "team" || kind === "subject" ? kind : "user",
  name,
});

const isSameCreator = (one: Creator, other: Creator): boolean =>
  one.kind === other.kind && one.name === other.name && one.uid === other.uid;

/** The part of the spec that says to whom and for what access is given. */
function givenBy({ spec }: KubeconfigGenerator): JsonValue {
  const { displayName: _, description: _description, ...given } = spec;
  return given;
}

function withStatus(generator: KubeconfigGenerator, status: KubeconfigGenerator["status"]): KubeconfigGenerator {
  const { status: _, ...rest } = generator;
  // The rest keeps the members that make it an object of this kind.
  return (status === undefined ? rest : { ...rest, status }) as KubeconfigGenerator;
}

function errorsOf({ spec }: KubeconfigGenerator): readonly FieldError[] {
  const { selector, format = "Kubeconfig", secretRef, secretTemplate = {}, argoCD } = spec;
  const { labels, annotations, copyLabels = [] } = secretTemplate;
  const { name, key } = secretRef;
  return [
    ...validateLabelSelector(selector, "spec.selector"),
    ...isDNS1123Subdomain(name).map((rule) => invalidError("spec.secretRef.name", name, rule)),
    ...(key === undefined ? [] : isConfigMapKey(key).map((rule) => invalidError("spec.secretRef.key", key, rule))),
    ...(key !== undefined && format === "ArgoCD"
      ? [forbiddenError("spec.secretRef.key", `the format ${format} names its keys itself`)]
      : []),
    ...(argoCD === undefined ? [] : argoErrors(argoCD, format)),
    ...(Buffer.byteLength(JSON.stringify(secretTemplate)) > MAX_TEMPLATE_SIZE
      ? [tooLongError("spec.secretTemplate", MAX_TEMPLATE_SIZE)]
      : []),
    ...validateLabels(labels, "spec.secretTemplate.labels"),
    ...validateAnnotations(annotations, "spec.secretTemplate.annotations"),
    ...copyLabels.flatMap((label, at) => validateLabelName(label, `spec.secretTemplate.copyLabels[${at}]`)),
    ...(copyLabels.length > 0 && format === "Kubeconfig"
      ? [forbiddenError("spec.secretTemplate.copyLabels", "its Secret is that of all virtual clusters")]
      : []),
  ];
}

function argoErrors(
  { project, namespaces = [] }: NonNullable<KubeconfigGenerator["spec"]["argoCD"]>,
  format: string,
): readonly FieldError[] {
  if (format !== "ArgoCD") return [forbiddenError("spec.argoCD", "may be set with the format ArgoCD only")];
  return [
    ...(project === undefined
      ? []
      : isDNS1123Subdomain(project).map((rule) => invalidError("spec.argoCD.project", project, rule))),
    ...namespaces.flatMap((name, at) =>
      isDNS1123Label(name).map((rule) => invalidError(`spec.argoCD.namespaces[${at}]`, name, rule)),
    ),
  ];
}

function immutableErrors({ spec }: KubeconfigGenerator, old: KubeconfigGenerator): readonly FieldError[] {
  const immutable = "field is immutable: create another generator";
  return [
    ...((spec.format ?? "Kubeconfig") === (old.spec.format ?? "Kubeconfig")
      ? []
      : [invalidError("spec.format", spec.format ?? "", immutable)]),
    ...(equalJson(spec.secretRef, old.spec.secretRef)
      ? []
      : [invalidError("spec.secretRef", spec.secretRef.name, immutable)]),
  ];
}
