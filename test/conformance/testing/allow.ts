// Gives a user of the conformance server rights, as an administrator would: by a role and its binding.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { expect } from "vitest";
import type { Api } from "./api.ts";

export const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const RBAC_GROUP = "rbac.authorization.k8s.io";

export const clusterRole = (name: string, ...rules: readonly JsonObject[]): JsonObject => ({
  apiVersion: `${RBAC_GROUP}/v1`,
  kind: "ClusterRole",
  metadata: { name },
  rules,
});

export const clusterRoleBinding = (name: string, role: string, user: string): JsonObject => ({
  apiVersion: `${RBAC_GROUP}/v1`,
  kind: "ClusterRoleBinding",
  metadata: { name },
  roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: role },
  subjects: [{ apiGroup: RBAC_GROUP, kind: "User", name: user }],
});

/** Each call adds rules; they are in force when it returns. */
export async function allow(api: Api, user: "alice" | "bob", ...rules: readonly JsonObject[]): Promise<void> {
  const { status, json } = await api.post(`${RBAC}/clusterroles`, {
    ...clusterRole("", ...rules),
    metadata: { generateName: "allow-" },
  });
  expect(status).toBe(201);
  const { name } = json.metadata;
  expect((await api.post(`${RBAC}/clusterrolebindings`, clusterRoleBinding(name, name, user))).status).toBe(201);
}
