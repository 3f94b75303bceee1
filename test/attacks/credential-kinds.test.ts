// Nothing is served that yields a credential and is not in the table of those that do: a new kind has to be classified.

import { CREDENTIAL_KINDS } from "@postern/platform/features/authorization/credential-kinds";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { adminKey, type HttpClient, httpClient } from "../e2e/testing/http-client.ts";
import { type OwnServer, startOwnServer } from "../e2e/testing/own-server.ts";

/** Resources that yield none, for the reason behind each line. A star among the subresources would hide one: there is none. */
const HARMLESS: { readonly [surface: string]: readonly string[] } = {
  shared: [
    // Data, and what is written about objects.
    "configmaps",
    "events",
    "services",
    "events.k8s.io/events",
    "coordination.k8s.io/leases",
    "namespaces",
    "namespaces/finalize",
    "namespaces/status",
    // Permissions of names: a credential has to prove the name.
    "rbac.authorization.k8s.io/clusterrolebindings",
    "rbac.authorization.k8s.io/clusterroles",
    "rbac.authorization.k8s.io/rolebindings",
    "rbac.authorization.k8s.io/roles",
    // Questions.
    "authentication.k8s.io/selfsubjectreviews",
    "authentication.k8s.io/tokenreviews",
    "authorization.k8s.io/localsubjectaccessreviews",
    "authorization.k8s.io/selfsubjectaccessreviews",
    "authorization.k8s.io/selfsubjectrulesreviews",
    "authorization.k8s.io/subjectaccessreviews",
    // Made-up kinds are data.
    "apiextensions.k8s.io/customresourcedefinitions",
    "apiextensions.k8s.io/customresourcedefinitions/status",
  ],
  management: [
    // Data that a client wrote.
    "management/projectsecrets",
    "management/projectsecrets/status",
    "management/sharedsecrets",
    "management/sharedsecrets/status",
    // Objects, and their users: permissions count at the moment of the request.
    "management/clusters",
    "management/clusters/status",
    "management/projects",
    "management/projects/clusters",
    "management/projects/status",
    "management/projects/templates",
    "management/spaceinstances",
    "management/spaceinstances/status",
    "management/teams",
    "management/users",
    "management/virtualclusterinstances",
    "management/virtualclusterinstances/status",
    "management/virtualclustertemplates",
    "management/virtualclustertemplates/status",
    // Addresses and public certificates.
    "multicluster.x-k8s.io/clusterprofiles",
    // Lists of credentials by their IDs, which are no secrets; writing to them revokes.
    "management/ownedaccesskeys/credentials",
    "management/teams/accesskeys",
    "management/teams/credentials",
    "management/users/accesskeys",
    "management/users/credentials",
    "management/virtualclusterinstances/credentials",
    // Public certificates, and steps of a rotation, which only make credentials invalid.
    "management/spaceinstances/certificateauthority",
    "management/virtualclusterinstances/certificateauthority",
    // Findings about rules, which are in the table.
    "management/clustertrustrules/status",
    "management/trustrules/status",
    "management/identityproviders/status",
    // Only controllers write it: what clients write there is left out.
    "management/kubeconfiggenerators/status",
    // Access for a time is the user's: what it makes a credential with is in the table.
    "management/accesspolicies",
    "management/accessrequests",
    "management/accessrequests/approval",
    "management/clusteraccesspolicies",
    // Questions.
    "management/clustertrustrules/test",
    "management/identityproviders/test",
    "management/trustrules/test",
    "management/ownedaccesskeys/explain",
    "management/selfsubjectaccessreviews",
    "management/selves",
  ],
  cluster: [
    // Its token is below it, and in the table.
    "serviceaccounts",
    // Data: nothing here runs what they describe.
    "bindings",
    "pods/binding",
    "pods/eviction",
    "pods/ephemeralcontainers",
    "pods/resize",
    "endpoints",
    "discovery.k8s.io/endpointslices",
    "services/status",
    "limitranges",
    "resourcequotas",
    "resourcequotas/status",
    "persistentvolumeclaims",
    "persistentvolumeclaims/status",
    "persistentvolumes",
    "persistentvolumes/status",
    "networking.k8s.io/ingressclasses",
    "networking.k8s.io/ingresses",
    "networking.k8s.io/ingresses/status",
    "networking.k8s.io/networkpolicies",
    "policy/poddisruptionbudgets",
    "policy/poddisruptionbudgets/status",
    "scheduling.k8s.io/priorityclasses",
    "storage.k8s.io/storageclasses",
    "storage.k8s.io/csidrivers",
    "storage.k8s.io/csinodes",
    "storage.k8s.io/csistoragecapacities",
    "storage.k8s.io/volumeattachments",
    "storage.k8s.io/volumeattachments/status",
    "storage.k8s.io/volumeattributesclasses",
    "networking.k8s.io/ipaddresses",
    "networking.k8s.io/servicecidrs",
    "networking.k8s.io/servicecidrs/status",
    // The server's own flow control does not read them.
    "flowcontrol.apiserver.k8s.io/flowschemas",
    "flowcontrol.apiserver.k8s.io/flowschemas/status",
    "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations",
    "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations/status",
    "node.k8s.io/runtimeclasses",
    "resource.k8s.io/deviceclasses",
    "resource.k8s.io/resourceclaims",
    "resource.k8s.io/resourceclaims/status",
    "resource.k8s.io/resourceclaimtemplates",
    "resource.k8s.io/resourceslices",
    // No request is passed on to the server that they name.
    "apiregistration.k8s.io/apiservices",
    "apiregistration.k8s.io/apiservices/status",
    "replicationcontrollers",
    "replicationcontrollers/scale",
    "replicationcontrollers/status",
    "autoscaling/horizontalpodautoscalers",
    "autoscaling/horizontalpodautoscalers/status",
    // No pod runs, so that no token is mounted and no process is reached.
    "bindings",
    "nodes",
    "componentstatuses",
    "nodes/status",
    "pods",
    "pods/attach",
    "pods/binding",
    "pods/ephemeralcontainers",
    "pods/exec",
    "pods/log",
    "pods/portforward",
    "pods/status",
    "podtemplates",
    "apps/controllerrevisions",
    "apps/daemonsets",
    "apps/daemonsets/status",
    "apps/deployments",
    "apps/deployments/scale",
    "apps/deployments/status",
    "apps/replicasets",
    "apps/replicasets/scale",
    "apps/replicasets/status",
    "apps/statefulsets",
    "apps/statefulsets/scale",
    "apps/statefulsets/status",
    "batch/cronjobs",
    "batch/cronjobs/status",
    "batch/jobs",
    "batch/jobs/status",
    // Statuses of policies, which are in the table.
    "admissionregistration.k8s.io/validatingadmissionpolicies/status",
  ],
};

let server: OwnServer;
let http: HttpClient;
let key: string;

beforeAll(async () => {
  server = await startOwnServer(["--store", "memory"]);
  http = await httpClient(server);
  key = await adminKey(server);
});
afterAll(() => server?.[Symbol.asyncDispose]());

/** The group without the domain of the platform; "" before a kind of the core. */
const shortGroup = (group: string): string => group.replace(/^(management|storage)\.postern$/, "$1");

async function servedBy(base: string): Promise<readonly string[]> {
  const versions = (await http(`${base}/apis`, { key })).body.groups.flatMap(({ versions: all }: any) =>
    all.map(({ groupVersion }: any) => [shortGroup(groupVersion.split("/")[0]), `/apis/${groupVersion}`]),
  );
  const lists = [["", "/api/v1"], ...versions].map(async ([group, path]) => {
    const { body } = await http(`${base}${path}`, { key });
    return body.resources.map(({ name }: any) => (group === "" ? name : `${group}/${name}`));
  });
  return (await Promise.all(lists)).flat();
}

describe.each([
  ["management", ""],
  ["cluster", "/kubernetes/project/default/virtualcluster/demo"],
])("the %s surface (security book 2)", (surface, base) => {
  const table = CREDENTIAL_KINDS.filter((kind) => kind.surface === surface).map(({ group, resource, subresource }) =>
    [group, resource, subresource].filter((part) => part !== "").join("/"),
  );

  it("serves only classified kinds and subresources", async () => {
    const known = new Set([...table, ...(HARMLESS["shared"] ?? []), ...(HARMLESS[surface] ?? [])]);
    const served = await servedBy(base);
    expect(served.length).toBeGreaterThan(20);
    expect(served.filter((name) => !known.has(name))).toEqual([]);
  });

  it("serves all that the table says yields a credential", async () => {
    const served = await servedBy(base);
    expect(table.filter((name) => !served.includes(name))).toEqual([]);
  });
});
