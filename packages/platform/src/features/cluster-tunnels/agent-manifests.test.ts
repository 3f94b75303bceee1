import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { AGENT_ALLOCATOR, AGENT_RULES, agentManifests } from "./agent-manifests.ts";

const CHART = new URL("../../../../../deploy/charts/postern-agent/", import.meta.url);

const manifest = (kind: string): any =>
  agentManifests({ server: "https://postern.example.com", joinValue: "value", image: "postern:1" }).find(
    (object: any) => object.kind === kind,
  );

it("the chart of the agent has the rules of the manifests", () => {
  const documents = readFileSync(new URL("templates/rbac.yaml", CHART), "utf8").split("---\n");
  const clusterRole = documents.find((text) => text.includes("kind: ClusterRole\n")) ?? "";
  expect(parse(clusterRole).rules).toEqual(AGENT_RULES);
});

it("the chart of the agent sets the allocator as the manifests do", () => {
  const { env } = manifest("Deployment").spec.template.spec.containers[0];
  const deployment = readFileSync(new URL("templates/deployment.yaml", CHART), "utf8");
  for (const [name, value] of Object.entries(AGENT_ALLOCATOR)) {
    expect(env).toContainEqual({ name, value });
    expect(deployment).toContain(`- { name: ${name}, value: "${value}" }`);
  }
});

it("the agent may do nothing with Secrets but its own, with pods or nodes, and grants no role that it is not asked to", () => {
  const resources = AGENT_RULES.flatMap((rule) => ("resources" in rule ? rule.resources : []));
  for (const resource of ["secrets", "pods", "pods/exec", "nodes", "*"]) expect(resources).not.toContain(resource);
  expect(manifest("Role").rules).toEqual([
    { apiGroups: [""], resources: ["secrets"], resourceNames: ["postern-agent"], verbs: ["get", "update"] },
  ]);
});

it("the pods of the agent are those of the restricted Pod Security Standard", () => {
  const { securityContext, containers } = manifest("Deployment").spec.template.spec;
  expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
  expect(containers[0].securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  });
  expect(manifest("Namespace").metadata.labels["pod-security.kubernetes.io/enforce"]).toBe("restricted");
});

it("no binding of the manifests is taken for one that a platform makes in the cluster, and removes", () => {
  for (const kind of ["ClusterRoleBinding", "RoleBinding"])
    expect(manifest(kind).metadata.labels).not.toHaveProperty(["app.kubernetes.io/managed-by"]);
});
