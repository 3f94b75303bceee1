// Objects that existed before some scenarios began, besides those that every cluster has.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { ConformanceClient } from "../testing/conformance-client.ts";

const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const GROUP = "management.example.com";

/** The rights that alice has of her own in the recordings of reviews. */
const ALICE_RIGHTS: readonly (readonly [path: string, object: JsonObject])[] = [
  [
    `${RBAC}/clusterroles`,
    {
      metadata: { name: "keys-of-alice" },
      rules: [
        {
          verbs: ["get", "update", "patch"],
          apiGroups: [GROUP],
          resources: ["ownedaccesskeys"],
          resourceNames: ["mine"],
        },
        { verbs: ["create"], apiGroups: [GROUP], resources: ["ownedaccesskeys"] },
      ],
    },
  ],
  [
    `${RBAC}/clusterrolebindings`,
    {
      metadata: { name: "keys-of-alice" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "keys-of-alice" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "alice" }],
    },
  ],
];

export async function prepareScenario(id: string, client: ConformanceClient): Promise<void> {
  if (id !== "review-01") return;
  for (const [path, object] of ALICE_RIGHTS) {
    const headers = { Authorization: "Bearer admin-token", "Content-Type": "application/json" };
    const { status, text } = await client.send({ method: "POST", path, headers, body: JSON.stringify(object) });
    if (status !== 201) throw new Error(`cannot prepare ${id}: ${status} ${text}`);
  }
}
