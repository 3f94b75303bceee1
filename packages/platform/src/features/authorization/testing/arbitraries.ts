// Random platforms, callers, keys and requests, drawn from so few names that they meet.

import type {
  AccessKeyRestrictions,
  AccessKeyRule,
  AccessKeyScope,
  TargetKind,
} from "@postern/api/access-key-restrictions";
import type { LabelRequirement } from "@postern/apimachinery/selectors/label-requirement";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import fc from "fast-check";
import type { AccessKeyOwner } from "../../access-keys/access-key-owner.ts";
import { FILTERED_RESOURCES } from "../filtered-resources.ts";
import type { PlatformRequest, TargetedRequest } from "../request/platform-request.ts";
import { type Instance, names, type Project, ruled, userInfo, type World, world } from "./memory-world.ts";

const GROUP = names.managementGroup;
const INVENTORY = "multicluster.x-k8s.io";
export const pick = <T>(...values: readonly T[]) => fc.constantFrom(...values);
export const few = <T>(arbitrary: fc.Arbitrary<T>, maxLength = 2) => fc.array(arbitrary, { maxLength });

const project = pick("a", "ab", "b");
const instanceName = pick("v1", "v10", "v2");
const cluster = pick("c1", "c2");
const user = pick("alice", "bob");
const team = pick("devs", "ops");
const namespace = pick("", "p-a", "p-ab", "p-b", "p-", "kube-system");
const resource = pick(
  ...FILTERED_RESOURCES,
  ...FILTERED_RESOURCES,
  "ownedaccesskeys",
  "accesskeys",
  "selves",
  "secrets",
  "tokenreviews",
  "subjectaccessreviews",
  "selfsubjectaccessreviews",
  "*",
);
const apiGroup = pick(
  GROUP,
  GROUP,
  GROUP,
  INVENTORY,
  "",
  names.storageGroup,
  "authentication.k8s.io",
  "authorization.k8s.io",
  "*",
);
const subresource = pick("", "", "", "status", "kubeconfig", "accesskey", "accesskeys", "credentials", "clusters", "*");
const verb = pick("get", "get", "list", "watch", "create", "update", "delete", "deletecollection", "use", "introspect");
const objectName = pick("", "a", "ab", "b", "v1", "v10", "v2", "alice", "bob", "devs", "c1", "c2", "*");
const url = pick(
  "/metrics",
  "/metrics/x",
  "/version",
  "/apis",
  "/apis/x/v1",
  "/api",
  "/apish",
  "/healthz",
  "/debug/a/b",
);

const resourceRequest: fc.Arbitrary<TargetedRequest> = fc.record({
  isResourceRequest: fc.constant(true),
  verb,
  apiGroup,
  resource,
  subresource,
  namespace,
  name: objectName,
  path: fc.constant(""),
});
/** The shapes that scopes and rights are mostly about. */
const likelyRequest: fc.Arbitrary<TargetedRequest> = fc.oneof(
  fc
    .record({
      project,
      name: instanceName,
      verb: pick("get", "use", "update"),
      resource: pick("virtualclusterinstances", "spaceinstances"),
    })
    .map(({ project, name, verb, resource }) => likely(verb, resource, "", `p-${project}`, name)),
  fc
    .record({
      project,
      name: instanceName,
      subresource: pick("kubeconfig", "accesskey", "status"),
      verb: pick("get", "create"),
    })
    .map(({ project, name, subresource, verb }) =>
      likely(verb, "virtualclusterinstances", subresource, `p-${project}`, name),
    ),
  fc
    .record({ project, subresource: pick("", "clusters"), verb: pick("get", "use", "update") })
    .map(({ project, subresource, verb }) => likely(verb, "projects", subresource, "", project)),
  fc
    .record({ project, name: instanceName, verb: pick("get", "list", "watch", "update") })
    .map(({ project, name, verb }) => ({
      ...likely(verb, "clusterprofiles", "", `p-${project}`, name),
      apiGroup: INVENTORY,
    })),
  cluster.map((name) => likely("get", "clusters", "", "", name)),
  user.map((name) => likely("get", "users", "", "", name)),
  team.map((name) => likely("get", "teams", "accesskeys", "", name)),
);
const likely = (
  verb: string,
  resource: string,
  subresource: string,
  namespace: string,
  name: string,
): TargetedRequest => ({
  isResourceRequest: true,
  verb,
  apiGroup: GROUP,
  resource,
  subresource,
  namespace,
  name,
  path: "",
});
const pathRequest: fc.Arbitrary<TargetedRequest> = fc
  .record({ verb: pick("get", "head", "post"), path: url })
  .map(({ verb, path }) => ({ ...likely(verb, "", "", "", ""), apiGroup: "", isResourceRequest: false, path }));
/** Requests that hand out credentials behind a proxy, and their neighbours. */
const handingOut: fc.Arbitrary<TargetedRequest> = fc
  .record({
    verb: pick("create", "update", "patch", "get", "*"),
    apiGroup: pick("", "certificates.k8s.io", "*", "other.io"),
    resource: pick("serviceaccounts", "certificatesigningrequests", "*"),
    subresource: pick("token", "approval", "*", ""),
    namespace,
  })
  .map((parts) => ({ ...likely("", "", "", "", "robot"), ...parts }));
const anyInner = fc.oneof(resourceRequest, resourceRequest, likelyRequest, likelyRequest, likelyRequest, pathRequest);

const innerBehind = fc.oneof({ weight: 3, arbitrary: anyInner }, { weight: 1, arbitrary: handingOut });

export const request: fc.Arbitrary<PlatformRequest> = fc.oneof(
  { weight: 6, arbitrary: anyInner.map((inner) => ({ target: "Management" as const, inner })) },
  {
    weight: 2,
    arbitrary: fc
      .record({ project, virtualCluster: instanceName, inner: innerBehind })
      .map((parts) => ({ target: "ProjectVirtualCluster" as const, ...parts })),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ project, space: instanceName, inner: innerBehind })
      .map((parts) => ({ target: "ProjectSpace" as const, ...parts })),
  },
  {
    weight: 1,
    arbitrary: fc.record({ cluster, inner: innerBehind }).map((parts) => ({ target: "Cluster" as const, ...parts })),
  },
);

const owner = fc.oneof(
  user.map((name) => ({ user: name, team: "" })),
  team.map((name) => ({ user: "", team: name })),
  fc.constant({ user: "", team: "" }),
);
const role = pick(
  names.role("project-admin"),
  names.role("project-user"),
  names.role("project-reader"),
  names.role("project-viewer"),
  names.role("admin"),
  "custom-1",
  "custom-2",
  "missing",
);

const policyRule = fc.record({
  verbs: few(fc.oneof(verb, fc.constant("*"))),
  apiGroups: few(apiGroup),
  resources: few(
    fc.oneof(
      resource,
      fc.tuple(resource, subresource).map(([r, s]) => (s === "" ? r : `${r}/${s}`)),
    ),
  ),
  resourceNames: few(objectName),
  nonResourceURLs: fc.constant([]),
});
const pathRule = fc.record({
  verbs: few(pick("get", "head", "*")),
  apiGroups: fc.constant([]),
  resources: fc.constant([]),
  resourceNames: fc.constant([]),
  nonResourceURLs: few(pick("*", "/metrics", "/apis/*", "/debug/*")),
});

const subject = fc.oneof(
  user.map((name) => ({ kind: "User", name, namespace: "" })),
  fc.oneof(user.map(names.userGroup), team.map(names.teamGroup), fc.constant("system:authenticated")).map((name) => ({
    kind: "Group",
    name,
    namespace: "",
  })),
);
const binding = fc
  .record({ namespace, subjects: fc.array(subject, { minLength: 1, maxLength: 2 }), role })
  .map(({ role: name, ...rest }) => ({
    ...rest,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
  }));

const labelKey = pick("env", "tier");
const labelValue = pick("dev", "prod", "");
const labelValues = fc.uniqueArray(labelValue, { minLength: 1, maxLength: 2 });
export const labelRequirement: fc.Arbitrary<LabelRequirement> = fc.oneof(
  fc.record({ key: labelKey, operator: fc.constant("in" as const), values: labelValues }),
  fc.record({ key: labelKey, operator: fc.constant("in" as const), values: labelValues }),
  fc.record({ key: labelKey, operator: fc.constant("notin" as const), values: labelValues }),
  fc.record({ key: labelKey, operator: pick("exists" as const, "!" as const), values: fc.constant([]) }),
);
const labelRequirements = fc.array(labelRequirement, { minLength: 1, maxLength: 3 });

const aProject: fc.Arbitrary<Project> = fc.record({
  name: project,
  owner,
  members: few(
    fc.oneof(
      fc.record({ kind: fc.constant("User"), name: user, clusterRole: role }),
      fc.record({ kind: pick("Team", "Group"), name: team, clusterRole: role }),
    ),
  ),
});
const people = { users: few(fc.oneof(user, fc.constant("*")), 1), teams: few(fc.oneof(team, fc.constant("*")), 1) };
const anInstance: fc.Arbitrary<Instance> = fc.record({
  resource: pick("virtualclusterinstances" as const, "virtualclusterinstances" as const, "spaceinstances" as const),
  namespace: project.map((name) => `p-${name}`),
  name: instanceName,
  owner,
  access: few(
    fc.record({ verbs: few(fc.oneof(verb, fc.constant("*"))), subresources: few(subresource), ...people }),
    1,
  ),
  extraAccessRules: few(fc.record({ clusterRole: pick("", "view", "admin"), ...people }), 1),
  labels: fc
    .array(fc.tuple(labelKey, labelValue), { maxLength: 2 })
    .map((entries): { readonly [key: string]: string } => Object.fromEntries(entries)),
});

export const anyWorld: fc.Arbitrary<World> = fc
  .record({
    rules: fc.tuple(few(fc.oneof(policyRule, pathRule)), few(fc.oneof(policyRule, pathRule))),
    bindings: few(binding, 3),
    projects: fc.uniqueArray(aProject, { selector: ({ name }) => name, maxLength: 3 }),
    instances: fc.uniqueArray(anInstance, {
      selector: ({ resource, namespace, name }) => `${resource}/${namespace}/${name}`,
      maxLength: 5,
    }),
  })
  .map(({ rules: [first, second], bindings, projects, instances }) =>
    world({
      clusterRoles: [
        { name: "custom-1", rules: first },
        { name: "custom-2", rules: second },
      ],
      bindings: bindings.map((each, at) => ({ ...each, name: `binding-${at}` })),
      projects,
      instances,
    }),
  );

const starOr = <T extends string>(name: fc.Arbitrary<T>) =>
  fc.oneof(name, name, fc.constant("*"), pick("a*", "*1", ""));

const scopeRole = fc.record({
  role: pick("platform-cli", "vcluster", "agent", "metrics-reader", "network-peer", "workspace", "metrics-writer"),
  projects: few(starOr(project), 1),
  virtualClusters: few(starOr(instanceName), 1),
});
export const scope: fc.Arbitrary<AccessKeyScope> = fc.record({
  roles: few(scopeRole, 2),
  projects: few(fc.record({ project: starOr(project) }), 1),
  spaces: few(fc.record({ project: starOr(project), space: starOr(instanceName) }), 1),
  virtualClusters: few(
    fc.oneof(
      fc.record({ project: starOr(project), virtualCluster: starOr(instanceName) }),
      fc.record({
        project: starOr(project),
        virtualCluster: fc.oneof(fc.constant(""), fc.constant(""), starOr(instanceName)),
        labels: labelRequirements,
      }),
    ),
    2,
  ),
  clusters: few(fc.record({ cluster: starOr(cluster) }), 1),
});

const target = pick<TargetKind>("Management", "Management", "Cluster", "ProjectSpace", "ProjectVirtualCluster");
const pattern = fc.oneof(
  resource,
  fc.tuple(resource, subresource).map(([r, s]) => (s === "" ? r : `${r}/${s}`)),
);
export const rule: fc.Arbitrary<AccessKeyRule> = fc.record({
  verbs: few(fc.oneof(verb, fc.constant("*"))),
  resources: few(fc.record({ group: apiGroup, resources: few(pattern), resourceNames: few(objectName, 1) }), 1),
  namespaces: fc.oneof(fc.constant([]), few(namespace)),
  nonResourceURLs: few(fc.oneof(url, pick("*", "/apis/*", "/debug*", "/debug/*")), 1),
  requestTargets: few(target, 2),
  cluster: fc.oneof(fc.constant(""), fc.constant(""), cluster),
  virtualClusters: fc.oneof(
    fc.constant([]),
    few(fc.record({ name: pick("", "v1", "*"), namespace: pick("", "p-a", "a") }), 1),
  ),
});

/** Also the ones that restrict by nothing, which no key has. */
export const restrictions: fc.Arbitrary<AccessKeyRestrictions | undefined> = fc.option(
  fc.record({ scope: fc.option(scope, { nil: undefined }), ruleSets: few(fc.array(rule, { maxLength: 3 }), 2) }),
  { nil: undefined, freq: 8 },
);

/** At least one part, as every key has that is narrowed at all. */
export const realRestrictions = restrictions.filter(
  (given) => given === undefined || given.scope !== undefined || given.ruleSets.length > 0,
);

/** A caller and the owner of its key. */
export const caller: fc.Arbitrary<{ readonly user: UserInfo; readonly owner: AccessKeyOwner }> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ name: user, teams: few(team) }).map(({ name, teams }) => ({
      user: userInfo(name, ...teams),
      owner: { kind: "user" as const, name },
    })),
  },
  {
    weight: 1,
    arbitrary: pick("postern:vcluster:p-a:v1", "postern:cluster:c1", "postern:vcluster:p-a:v1:x", "ci").map((name) => ({
      user: { name, groups: ["system:authenticated"] },
      owner: { kind: "subject" as const, name },
    })),
  },
  {
    weight: 1,
    arbitrary: user.map((name) => ({
      user: { ...userInfo(name), groups: [...userInfo(name).groups, names.adminsGroup, "system:masters"] },
      owner: { kind: "user" as const, name },
    })),
  },
);

/** Rules that leave their resources open, where what counts as within them is subtle: requests about access keys ask to be named. */
export const wideRules: fc.Arbitrary<AccessKeyRestrictions> = fc
  .record({ group: pick(GROUP, GROUP, names.storageGroup), resources: pick(["*"], []), isOpen: fc.boolean() })
  .map(({ group, resources, isOpen }) =>
    ruled(isOpen ? { verbs: ["get"] } : { resources: [{ group, resources, resourceNames: [] }] }),
  );
const aboutKeys = pick(
  "ownedaccesskeys",
  "accesskeys",
  "users/accesskeys",
  "users/credentials",
  "teams/credentials",
  "users/*",
);

/** The parent's rules with other resources, names or verbs in some of them: often within the parent, and often just beside. */
export function rulesNearTo(
  parent: AccessKeyRestrictions | undefined,
): fc.Arbitrary<AccessKeyRestrictions | undefined> {
  if (parent === undefined) return fc.constant(parent);
  return fc
    .record({
      patterns: few(fc.oneof(pattern, aboutKeys)),
      names: few(objectName, 1),
      verbs: few(verb),
      keep: fc.array(fc.boolean(), { minLength: 7, maxLength: 7 }),
    })
    .map(({ patterns, names: resourceNames, verbs, keep }) => {
      let at = 0;
      const isKept = (): boolean => keep[at++ % keep.length] === true;
      const near = (given: AccessKeyRule): AccessKeyRule => ({
        ...given,
        verbs: isKept() ? given.verbs : verbs,
        resources: given.resources.map((entry) => ({
          ...entry,
          resources: isKept() ? entry.resources : patterns,
          resourceNames: isKept() ? entry.resourceNames : resourceNames,
        })),
      });
      return { ...parent, ruleSets: parent.ruleSets.map((rules) => rules.map(near)) };
    });
}
