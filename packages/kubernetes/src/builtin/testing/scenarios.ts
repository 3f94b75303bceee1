// Scenarios in a test cluster, in few words: what a user gets, what is refused, what a Table shows.

import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import { JsonPathBudget } from "@postern/apiserver/endpoints/table/json-path";
import { tableColumns } from "@postern/apiserver/endpoints/table/table-cells";
import type { TestCluster } from "./test-cluster.ts";

export const alice: UserInfo = { name: "alice", uid: "alice-uid", groups: ["devs", "system:authenticated"] };
export const RBAC = "rbac.authorization.k8s.io";
export const podReader = [{ verbs: ["get", "list"], apiGroups: [""], resources: ["pods"] }];

/** Gives alice these rules everywhere. */
export async function grantToAlice(cluster: TestCluster, rules: object[]): Promise<void> {
  await cluster.create("clusterroles", { metadata: { name: "for-alice" }, rules: rules as never });
  await cluster.create("clusterrolebindings", {
    metadata: { name: "for-alice" },
    roleRef: { kind: "ClusterRole", name: "for-alice" },
    subjects: [{ kind: "User", name: "alice" }],
  });
}

/** The message of its refusal, or `allowed`. */
export const messageOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
    return "allowed";
  } catch (error) {
    return (error as Error).message;
  }
};

/** The row of an object five seconds after it was made, by the names of the columns. */
export const cellsOf = (cluster: TestCluster, plural: string, name: string, namespace = "default") => {
  const object = cluster.get(plural, { name, namespace });
  const { definitions, cells } = tableColumns(cluster.resource(plural).definition);
  const values = cells(object!, Date.parse(object?.metadata.creationTimestamp ?? "") + 5000, new JsonPathBudget(1000));
  return Object.fromEntries(definitions.map(({ name: column }, index) => [column, values[index]]));
};
