// A whole API surface in memory, without the network: real store, cache, registry, admission and RBAC, for scenario tests.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { createNamespaceLifecycle } from "@postern/apiserver/admission/namespace-lifecycle";
import { createOwnerReferencesAdmission } from "@postern/apiserver/admission/owner-references";
import { createTokenFileAuthenticator } from "@postern/apiserver/authentication/token-file-authenticator";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import { unionAuthorizer, unionRuleResolver } from "@postern/apiserver/authorization/authorizer";
import { mastersAuthorizer } from "@postern/apiserver/authorization/masters-authorizer";
import { createCachedRbacSource } from "@postern/apiserver/authorization/rbac/cached-rbac-source";
import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import { createRbacAuthorizer } from "@postern/apiserver/authorization/rbac/rbac-authorizer";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { createResourceKeys } from "@postern/apiserver/cache/resource-keys";
import { type ControllerPort, controlledResources } from "@postern/apiserver/controllers/controller-port";
import { admissionChain } from "@postern/apiserver/registry/admission-plugin";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { createResourceRegistry, type InstalledResource } from "@postern/apiserver/registry/resource-registry";
import type { DeleteOptions } from "@postern/apiserver/registry/resource-storage";
import { createContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { createTestContext, testAdmin } from "@postern/apiserver/testing/test-context";
import { noCustomResourceDefinitions } from "../../custom-resources/no-custom-resource-definitions.ts";
import { builtinResources } from "../builtin-resources.ts";

const GROUP = "management.example.com";
const COMPOSITION = "test";

const exampleResource = (kind: string, plural: string, namespaced: boolean): ResourceDefinition => ({
  group: GROUP,
  version: "v1",
  kind,
  plural,
  singular: kind.toLowerCase(),
  namespaced,
  schema: kindSchema(s.object({ spec: s.anyObject() }).schema),
});

/** Namespaced. */
export const widgets = exampleResource("Widget", "widgets", true);
/** Cluster-scoped. */
export const gadgets = exampleResource("Gadget", "gadgets", false);

export type TestObject = Partial<KubeObject> & { readonly metadata: KubeObject["metadata"] };
type Target = { readonly namespace?: string; readonly name: string; readonly subresource?: string };

export type TestCluster = AsyncDisposable & {
  readonly port: ControllerPort & { readonly errors: readonly unknown[] };
  resource(plural: string): InstalledResource;
  create(plural: string, object: TestObject, user?: UserInfo): Promise<KubeObject>;
  update(plural: string, target: Target, edit: (current: any) => object, user?: UserInfo): Promise<KubeObject>;
  delete(plural: string, target: Target, options?: Partial<DeleteOptions>, user?: UserInfo): Promise<KubeObject>;
  /** Undefined when there is none. */
  get(plural: string, target: Target): KubeObject | undefined;
  names(plural: string): readonly string[];
  /** Answers a review. */
  submit(plural: string, body: object, user?: UserInfo, namespace?: string): Promise<KubeObject>;
};

/** The namespaces `default` and `other` are there. `more` is served beside the built-in kinds. */
export async function createTestCluster(more: readonly ResourceDefinition[] = []): Promise<TestCluster> {
  const storage = createMemoryStorage();
  const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
  await cache.ready();

  const rbacView = (resource: string, namespaced: boolean) => {
    const { prefix } = createResourceKeys(COMPOSITION, { group: RBAC_GROUP, resource, namespaced });
    return { view: cache.view(prefix), prefix };
  };
  const source = createCachedRbacSource(
    {
      roles: rbacView("roles", true),
      roleBindings: rbacView("rolebindings", true),
      clusterRoles: rbacView("clusterroles", false),
      clusterRoleBindings: rbacView("clusterrolebindings", false),
    },
    systemRuntime.scheduler,
  );
  const rbac = createRbacAuthorizer({ source });
  const authorizer = unionAuthorizer([mastersAuthorizer, rbac]);
  const ruleResolver = unionRuleResolver([mastersAuthorizer, rbac]);

  const find = (name: string) => {
    const resource = registry.resources.find(({ definition }) => definition.plural === name);
    if (resource === undefined) throw new Error(`no resource ${name}`);
    return resource;
  };
  const namespaceOf = (name: string) => {
    const { view, keys } = find("namespaces");
    return view.get(keys.of("", name))?.decode();
  };
  const registry = createResourceRegistry({
    composition: COMPOSITION,
    storage,
    cache,
    admission: admissionChain([
      createNamespaceLifecycle({ namespaces: { cached: namespaceOf, live: async (name) => namespaceOf(name) } }),
      createOwnerReferencesAdmission({
        authorizer,
        findKind: (group, kind) => registry.findKind(group, kind)?.definition,
        finalizersSuffice: true,
      }),
    ]),
    continueTokens: createContinueTokens(),
    runtime: systemRuntime,
    onHookError: (error) => {
      throw error;
    },
  });
  const tokens = createTokenFileAuthenticator("alice-token,alice,alice-uid,devs");
  const audiences = ["https://kubernetes.default.svc"];
  for (const definition of builtinResources({
    authorizer,
    ruleResolver,
    rbacSource: source,
    tokens,
    audiences,
    customResourceDefinitions: noCustomResourceDefinitions,
  })) {
    registry.install(definition);
  }
  for (const definition of [widgets, gadgets, ...more]) registry.install(definition);

  const contextOf = ({ definition }: InstalledResource, method: string, target: Target, user: UserInfo) => {
    const { group, version, plural, namespaced } = definition;
    const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    const scope = namespaced ? `/namespaces/${target.namespace ?? "default"}` : "";
    const rest = [target.name, target.subresource].filter((part) => part !== undefined && part !== "").join("/");
    return createTestContext({ method, url: `${root}${scope}/${plural}${rest === "" ? "" : `/${rest}`}`, user });
  };
  const namespaceFor = ({ definition }: InstalledResource, namespace = "default") =>
    definition.namespaced ? namespace : "";
  const complete = ({ definition: { group, version, kind } }: InstalledResource, object: TestObject) =>
    ({ apiVersion: group === "" ? version : `${group}/${version}`, kind, ...object }) as KubeObject;

  const errors: unknown[] = [];
  const cluster: TestCluster = {
    port: {
      errors,
      resources: controlledResources(registry),
      runtime: systemRuntime,
      onError: (error) => errors.push(error),
    },
    resource: find,
    async create(plural, object, user = testAdmin) {
      const resource = find(plural);
      const { namespace } = object.metadata;
      const target = { name: "", ...(namespace === undefined ? {} : { namespace }) };
      const context = contextOf(resource, "POST", target, user);
      const options = { dryRun: false };
      const { genericStore: store } = resource;
      return (
        await store.create(context, namespaceFor(resource, namespace), complete(resource, object), options)
      ).decode();
    },
    async update(plural, target, edit, user = testAdmin) {
      const resource = find(plural);
      const context = contextOf(resource, "PUT", target, user);
      const { object } = await resource.genericStore.update(
        context,
        namespaceFor(resource, target.namespace),
        target.name,
        { subresource: target.subresource ?? "", transform: (current) => edit(current) as KubeObject },
        { dryRun: false },
      );
      return object.decode();
    },
    async delete(plural, target, options = {}, user = testAdmin) {
      const resource = find(plural);
      const context = contextOf(resource, "DELETE", target, user);
      const namespace = namespaceFor(resource, target.namespace);
      return (
        await resource.genericStore.delete(context, namespace, target.name, { dryRun: false, ...options })
      ).object.decode();
    },
    get(plural, { namespace, name }) {
      const resource = find(plural);
      return resource.view.get(resource.keys.of(namespaceFor(resource, namespace), name))?.decode();
    },
    names(plural) {
      const { view, keys } = find(plural);
      return view.list(keys.prefix).map(({ key }) => keys.parse(key).name);
    },
    async submit(plural, body, user = testAdmin, namespace = "default") {
      const resource = find(plural);
      const context = contextOf(resource, "POST", { name: "", namespace }, user);
      const { submit } = resource.definition;
      if (submit === undefined) throw new Error(`${plural} are stored`);
      return await submit(context, complete(resource, { metadata: {}, ...body }));
    },
    async [Symbol.asyncDispose]() {
      source[Symbol.dispose]();
      await cache[Symbol.asyncDispose]();
      await storage[Symbol.asyncDispose]();
    },
  };
  for (const name of ["default", "other"]) await cluster.create("namespaces", { metadata: { name } });
  return cluster;
}

/** A reference to an object as its owner. */
export const ownerReferenceTo = ({ apiVersion, kind, metadata }: KubeObject, more: object = {}) => ({
  apiVersion,
  kind,
  name: metadata.name ?? "",
  uid: metadata.uid ?? "",
  ...more,
});
