// Projects, clusters, virtual clusters and spaces in memory, with their controllers: real store, cache, registry, RBAC and
// authorities. Decisions of other parts of the platform (owners of keys, permissions) are a table that the test fills in.

import { createPlatformNames } from "@postern/api/platform-names";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Authentication } from "@postern/apiserver/authentication/authenticator";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { NOTHING_STORED } from "@postern/apiserver/cache/stored-usage";
import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { createContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { createTestContext, type TestRequest, testAdmin } from "@postern/apiserver/testing/test-context";
import { requiredResource } from "@postern/kubernetes/server/required-resource";
import { createStandardSurface } from "@postern/kubernetes/server/standard-surface";
import type { AccessKeyState } from "../../features/access-keys/access-key-state.ts";
import { createIssuedGrants } from "../../features/access-keys/issued-grants.ts";
import type { ChildKeyRequest, ControlPlaneKeyRequest } from "../../features/access-keys/mint-access-key.ts";
import { accessKey } from "../../features/access-keys/testing/access-key.ts";
import { NO_GRANTED_ACCESS } from "../../features/authorization/granted-access.ts";
import { type InstancePlace, insideIdentity } from "../../features/authorization/inside/inside-groups.ts";
import { createInstancePermissionIndex } from "../../features/authorization/members/instance-permissions.ts";
import { createProjectMembershipIndex } from "../../features/authorization/members/project-memberships.ts";
import { SEES_EVERYTHING } from "../../features/authorization/testing/sees-everything.ts";
import { createAgentTargets } from "../../features/cluster-tunnels/agent-targets.ts";
import { clusterJoin } from "../../features/cluster-tunnels/kinds/cluster-join.ts";
import type { Directory, DirectoryTeam, DirectoryUser } from "../../features/directory/directory.ts";
import { createProjectController } from "../../features/projects/controllers/project-controller.ts";
import { projects } from "../../features/projects/kinds/projects/index.ts";
import { createProjectNamespace } from "../../features/projects/project-namespaces.ts";
import { createBackendRegistry } from "../../features/virtual-clusters/backend-registry.ts";
import { createControlPlaneKeys } from "../../features/virtual-clusters/control-plane-keys.ts";
import { createInsideBindingsController } from "../../features/virtual-clusters/controllers/inside-bindings/inside-bindings-controller.ts";
import { createSpaceController } from "../../features/virtual-clusters/controllers/space-instances/space-controller.ts";
import { createVirtualClusterController } from "../../features/virtual-clusters/controllers/virtual-cluster-instances/virtual-cluster-controller.ts";
import { standardBindings } from "../../features/virtual-clusters/embedded/bind-roles.ts";
import { createEmbeddedBackend } from "../../features/virtual-clusters/embedded/embedded-backend.ts";
import { createEmbeddedClusters } from "../../features/virtual-clusters/embedded/embedded-clusters.ts";
import { createEmbeddedSpace } from "../../features/virtual-clusters/embedded/embedded-space.ts";
import { clusters } from "../../features/virtual-clusters/kinds/clusters/index.ts";
import { spaceInstances } from "../../features/virtual-clusters/kinds/space-instances/index.ts";
import { virtualClusterInstances } from "../../features/virtual-clusters/kinds/virtual-cluster-instances/index.ts";
import { virtualClusterTemplates } from "../../features/virtual-clusters/kinds/virtual-cluster-templates/index.ts";
import { createSpaceRegistry } from "../../features/virtual-clusters/space-registry.ts";
import { createInternalRecords, createInternalValues } from "../../foundation/encryption/internal-records.ts";
import { createFixedKeyRing } from "../../foundation/encryption/key-ring.ts";
import { createObjectLookup, type ObjectLookup } from "../../foundation/lookup/object-lookup.ts";
import { createAddressRules } from "../../foundation/upstream/address-rules.ts";
import { unreachableError } from "../../foundation/upstream/upstream-failure.ts";

export const PLATFORM_URL = "https://platform.test:8443";
export const PLATFORM_CA = "-----BEGIN CERTIFICATE-----\nplatform\n-----END CERTIFICATE-----\n";
export const GROUP = "management.example.test";

export const TEST_VERSION = {
  major: "1",
  minor: "34",
  gitVersion: "v1.34.0+test",
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "none",
  compiler: "none",
  platform: "test",
};

const RECHECK_MS = 30_000;
const names = createPlatformNames({ domain: "example.test", name: "example", projectNamespacePrefix: "p-" });

export type TenancyOptions = {
  readonly proxyFallback?: boolean;
  /** Decides about requests; default: all of them are allowed. */
  readonly authorizer?: Authorizer;
  readonly runtime?: Runtime;
  readonly users?: readonly string[];
  readonly teams?: readonly string[];
};

export type Tenancy = Awaited<ReturnType<typeof createTenancy>>;

/** Has project `default`, cluster `embedded`, and a virtual cluster `demo` with its ingress endpoint on. */
export async function createTenancy(options: TenancyOptions = {}) {
  const runtime = options.runtime ?? systemRuntime;
  const authorizer = options.authorizer ?? { authorize: () => ({ verdict: "allow", reason: "" }) as const };
  const storage = createMemoryStorage();
  const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: runtime.scheduler });
  await cache.ready();
  const sealedValues = createInternalValues(createFixedKeyRing(new Uint8Array(32).fill(7)), runtime.random);
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const directory = createTestDirectory(options.users ?? ["alice", "bob"], options.teams ?? ["devs"]);
  const continueTokens = createContinueTokens();

  const embedded = createEmbeddedClusters({
    storage,
    cache,
    runtime,
    continueTokens,
    sealedValues,
    names,
    firstBindings: standardBindings(names),
    version: TEST_VERSION,
    webhooks: { addresses: createAddressRules(), userAgent: names.name },
    onError,
  });
  const lookup: ObjectLookup = createObjectLookup(
    () => surface.registry,
    names,
    (signal) => cache.refresh({ signal }),
  );
  const embeddedOptions = {
    clusters: embedded,
    names,
    runtime,
    version: TEST_VERSION,
    serverCertificateAuthority: PLATFORM_CA,
  };
  const backends = createBackendRegistry({
    lookup,
    kubernetes: () => {
      throw unreachableError({ reason: "NoConnectionInThisTest", message: "the test has no cluster at the other end" });
    },
    embedded: (uid) => createEmbeddedBackend(embeddedOptions, uid),
  });
  const spaces = createSpaceRegistry({
    lookup,
    embedded: (uid, namespace) => createEmbeddedSpace(embeddedOptions, uid, namespace),
  });

  const keys = new Map<string, AccessKeyState>();
  const minted: (ChildKeyRequest & { readonly key: string })[] = [];
  const controlPlane: (ControlPlaneKeyRequest & { readonly key: string })[] = [];
  const revoked: string[] = [];
  const controlPlaneKeys = createControlPlaneKeys({
    names,
    keys: {
      whenFound: () => undefined,
      find: (key) => [...keys.values()].find(({ name }) => name === `name-of-${key}`),
      refusalOf: (key) => (key.disabled ? "disabled" : undefined),
    },
    async mint(request) {
      const key = `control-plane-key-${controlPlane.length}`;
      controlPlane.push({ ...request, key });
      keys.set(key, accessKey({ name: `name-of-${key}`, id: key }));
      return key;
    },
    revoke: async (name) => void revoked.push(name),
    recordsOf: (composition) => createInternalRecords({ storage, sealedValues }, composition),
  });
  const joins = { create: async () => ({ value: `join-value-${joined++}`, until: runtime.clock.now() }) };
  let joined = 0;
  const endpoint = { url: () => PLATFORM_URL, certificateAuthorityPem: PLATFORM_CA };
  const deps = {
    names,
    runtime,
    directory,
    lookup,
    visibility: SEES_EVERYTHING,
    authorizer,
    endpoint,
    backends,
    controlPlaneKeys,
    keys: {
      byId: (id: string) => keys.get(id),
      byName: (name: string) => [...keys.values()].find((key) => key.name === name),
      byUid: () => undefined,
    },
    wrapped: {
      makeRoom: async () => {},
      wrap: () => Promise.reject(new Error("nothing is wrapped here")),
    },
    certificates: { makeRoom: async () => {}, record: async () => {} },
    granted: NO_GRANTED_ACCESS,
    grants: createIssuedGrants(),
    proxyFallback: options.proxyFallback ?? false,
    projectSources: { rangesOf: () => [] },
    async mintAccessKey(request: ChildKeyRequest) {
      const key = `minted-${minted.length}`;
      minted.push({ ...request, key });
      const parent = [...keys.values()].find(({ uid }) => uid === request.parent?.uid);
      const ends = [
        parent?.expiresAt,
        request.ttl === undefined ? undefined : runtime.clock.now() + request.ttl * 1000,
      ];
      const known = ends.filter((end) => end !== undefined);
      return { key, name: key, uid: `uid-of-${key}`, expiresAt: known.length === 0 ? undefined : Math.min(...known) };
    },
    insideIdentity: (user: UserInfo, place: InstancePlace) =>
      insideIdentity(user, place, { names, projects: projectMemberships, instances: instancePermissions }),
  };
  const surface = createStandardSurface({
    composition: "management",
    storage,
    cache,
    runtime,
    continueTokens,
    tokens: { authenticateToken: () => undefined },
    audiences: [],
    resources: [
      projects({
        ...deps,
        checkMembership: async () => {},
        budgets: { ofProject: () => ({ used: NOTHING_STORED, limit: NOTHING_STORED }) },
        createNamespace: createProjectNamespace({ runtime }, names, () => resource("Namespace", "")),
        hasRecordings: true,
      }),
      clusters({
        ...deps,
        keys: controlPlaneKeys,
        join: clusterJoin({ names, lookup }, { joins, targets: createAgentTargets(names, lookup) }, endpoint),
        hasRecordings: true,
      }),
      virtualClusterInstances({
        ...deps,
        clusterUsage: { of: () => undefined },
        frontProxy: { credentialTTLSeconds: 3_600 },
      }),
      virtualClusterTemplates(deps),
      spaceInstances(deps),
    ],
    onHookError: onError,
    onControllerError: onError,
  });
  const resource = (kind: string, group = GROUP) => requiredResource(surface.registry, group, kind);
  const prefixOf = (kind: string) => ({ view: resource(kind).view, prefix: resource(kind).keys.prefix });
  const projectMemberships = createProjectMembershipIndex(prefixOf("Project"), runtime.scheduler);
  const instancePermissions = createInstancePermissionIndex(
    { virtualclusterinstances: prefixOf("VirtualClusterInstance"), spaceinstances: prefixOf("SpaceInstance") },
    runtime.scheduler,
  );
  const port = { runtime, onError };
  const base = {
    names,
    lookup,
    own: (kind: string) => resource(kind),
    installed: (group: string, kind: string) => resource(kind, group),
  };
  const controllers: readonly Controller[] = [
    createProjectController(port, base),
    createVirtualClusterController(port, base, {
      backends,
      async remove(uid, signal) {
        await controlPlaneKeys.revokeVirtualCluster(uid, signal);
        await embedded.remove(uid, signal);
      },
      stop: (uid) => embedded.stop(uid),
      recheckMs: RECHECK_MS,
    }),
    createInsideBindingsController(port, base, backends),
    createSpaceController(port, base, { spaces, stop: (uid) => embedded.stop(uid), recheckMs: RECHECK_MS }),
  ];

  /** Requests below `/kubernetes/management`, as the handler chain would pass them on. */
  async function request(
    call: TestRequest & { readonly credentialId?: string },
  ): Promise<{ status: number; body: any; warnings: readonly string[] }> {
    const context = createTestContext({
      ...call,
      headers: call.body === undefined ? {} : { "content-type": "application/json", ...call.headers },
    }).with({
      receivedAt: runtime.clock.now(),
      ...(call.credentialId === undefined ? {} : { credential: { id: call.credentialId } }),
    });
    const { status, body } = await surface.route(context);
    if (body.type !== "bytes") throw new Error("the answer is a stream");
    return { status, body: JSON.parse(Buffer.from(body.bytes).toString()), warnings: context.warnings.texts };
  }

  /** Runs until no controller has anything left to do. */
  async function settled(): Promise<void> {
    for (let round = 0; round < 5; round++) {
      for (const controller of controllers) await controller.idle();
      await cache.refresh();
    }
  }

  async function create(
    path: string,
    object: object,
    user: UserInfo = testAdmin,
  ): Promise<KubeObject & { status: any }> {
    const { body } = await request({ method: "POST", url: `/apis/${GROUP}/v1/${path}`, body: object, user });
    return body;
  }

  /** Waits for an object to look as it should; checked at every change in the cache. */
  async function eventually<T>(read: () => T | undefined | false): Promise<T> {
    for (;;) {
      const value = read();
      if (value !== undefined && value !== false) return value;
      const from = cache.revision;
      await new Promise<void>((resolve) => {
        const seen = () => resolve();
        const handle = storage.watch("/registry/", from, { events: seen, error: seen });
        setTimeout(() => {
          handle[Symbol.dispose]();
          resolve();
        }, 20);
      });
    }
  }

  /** A request inside a virtual cluster, as the proxy passes it on. */
  async function inside(name: string, call: TestRequest, project = "default") {
    const instance = lookup.virtualClusterInstance(names.projectNamespace(project), name);
    if (instance === undefined) throw new Error(`no virtual cluster ${name}`);
    const user = call.user ?? { name: "root", groups: [names.insideRoleGroup("cluster-admin")] };
    const context = createTestContext({
      ...call,
      headers: call.body === undefined ? {} : { "content-type": "application/json", ...call.headers },
    });
    const { status, body } = await backends
      .backendOf(instance)
      .proxy(context.with({ receivedAt: runtime.clock.now() }), user);
    if (body.type !== "bytes") throw new Error("the answer is a stream");
    const text = Buffer.from(body.bytes).toString();
    return { status, body: text.startsWith("{") ? JSON.parse(text) : text };
  }

  async function authenticate(name: string, certificate: object): Promise<Authentication | undefined> {
    const instance = lookup.virtualClusterInstance("p-default", name);
    if (instance === undefined) throw new Error(`no virtual cluster ${name}`);
    const { request } = createTestContext({ url: "/api" });
    return await backends
      .backendOf(instance)
      .authenticateCertificate(request.with({ peerCertificate: () => certificate as never }));
  }

  const controller = new AbortController();
  await surface.bootstrap(controller.signal);
  await create("clusters", { metadata: { name: "embedded" }, spec: { local: true } });
  await create("projects", { metadata: { name: "default" }, spec: { allowedClusters: [{ name: "*" }] } });
  await settled();
  await create("namespaces/p-default/virtualclusterinstances", {
    metadata: { name: "demo" },
    spec: { owner: { user: "alice" }, template: { accessPoint: { ingress: { enabled: true } } } },
  });
  await settled();

  return {
    names,
    storage,
    cache,
    embedded,
    backends,
    lookup,
    keys,
    minted,
    controlPlane,
    revoked,
    errors,
    request,
    create,
    inside,
    authenticate,
    settled,
    eventually,
    resource,
    definitions: () => surface.registry.definitions,
    async [Symbol.asyncDispose]() {
      for (const each of controllers) each[Symbol.dispose]();
      projectMemberships[Symbol.dispose]();
      instancePermissions[Symbol.dispose]();
      surface[Symbol.dispose]();
      embedded[Symbol.dispose]();
      await cache[Symbol.asyncDispose]();
      await storage[Symbol.asyncDispose]();
    },
  };
}

/** Users have the subjects `<name>@example.test`. */
function createTestDirectory(users: readonly string[], teams: readonly string[]): Directory {
  const known = new Map<string, DirectoryUser>(
    users.map((name) => [
      name,
      {
        name,
        uid: `${name}-uid`,
        subject: `${name}@example.test`,
        groups: [],
        displayName: name,
        username: name,
        email: "",
        isBot: false,
        identities: [],
        locked: false,
      },
    ]),
  );
  const knownTeams = new Map<string, DirectoryTeam>(
    teams.map((name) => [name, { name, uid: `${name}-uid`, displayName: name, groups: [] }]),
  );
  return {
    version: 1,
    user: (name) => known.get(name),
    users: () => [],
    userBySubject: (subject) => [...known.values()].find((user) => user.subject === subject),
    userByIdentity: () => undefined,
    team: (name) => knownTeams.get(name),
    teamsOf: () => [],
    teamsWith: () => [],
    membersOf: () => [],
    onChange: () => ({ [Symbol.dispose]() {} }),
  };
}

/** A user of the test directory, as authentication presents it. */
export const userOf = (name: string, ...groups: string[]): UserInfo => ({
  name: `${name}@example.test`,
  groups: [...groups, names.userGroup(name), "system:authenticated"],
});
