// Refusals are kube-apiserver v1.32's, word for word.

import { readFileSync } from "node:fs";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { alice, grantToAlice, messageOf, podReader } from "../testing/scenarios.ts";
import { createTestCluster, type TestCluster } from "../testing/test-cluster.ts";

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await createTestCluster();
});
afterEach(() => cluster[Symbol.asyncDispose]());

describe("reviews", () => {
  const golden = JSON.parse(readFileSync(new URL("../testdata/review-01.json", import.meta.url), "utf8"));
  const users: { [name: string]: UserInfo } = {
    admin: { name: "admin", groups: ["system:masters", "system:authenticated"] },
    alice,
  };
  const steps = golden.steps.filter(
    ({ request, compare }: any) => request.method === "POST" && request.user !== null && compare !== "shape",
  );

  it.each<[string, any]>(steps.map((step: any, index: number) => [`${index} ${step.note}`, step]))(
    "answer as kube-apiserver: %s",
    async (_name, { request, response }) => {
      await grantToAlice(cluster, [
        { verbs: ["create"], apiGroups: ["management.example.com"], resources: ["ownedaccesskeys"] },
        { verbs: ["get"], nonResourceURLs: ["/healthz"] },
      ]);
      const plural = request.path.split("/").at(-1);
      const { creationTimestamp } = response.json.metadata;
      const user = users[request.user]!;
      if (response.status !== 201) {
        await expect(cluster.submit(plural, request.json, user)).rejects.toSatisfy((error: any) => {
          expect(error.toStatus()).toEqual(response.json);
          return true;
        });
        return;
      }
      const answer: any = await cluster.submit(plural, request.json, user);
      const { reason = "", ...status } = answer.status;
      const { reason: expectedReason = "", ...expectedStatus } = response.json.status;
      expect(reason.startsWith(expectedReason.replace("<anytext>", ""))).toBe(true);
      expect({ ...answer, status }).toEqual({
        ...response.json,
        // 1.36 leaves out a time that was never set.
        metadata: creationTimestamp === null ? {} : { creationTimestamp: "1970-01-01T00:00:00Z" },
        status: expectedStatus,
      });
    },
  );

  it("return the rules of the caller, and require a namespace", async () => {
    await grantToAlice(cluster, podReader);
    const answer = await cluster.submit("selfsubjectrulesreviews", { spec: { namespace: "default" } }, alice);
    expect(answer).toMatchObject({
      spec: {},
      status: { resourceRules: podReader, nonResourceRules: [], incomplete: false },
    });
    expect(await messageOf(cluster.submit("selfsubjectrulesreviews", { spec: {} }, alice))).toBe(
      "no namespace on request",
    );
  });

  it.each([
    [[], ["https://kubernetes.default.svc"]],
    [["x", "https://kubernetes.default.svc"], ["https://kubernetes.default.svc"]],
    [["x"], undefined],
  ])("accept a token that names no audience where %j is asked for, and answer with %j", async (audiences, answered) => {
    const { status } = await cluster.submit("tokenreviews", { spec: { token: "alice-token", audiences } });
    expect(status).toMatchObject({ authenticated: true, user: { username: "alice" } });
    expect((status as { readonly audiences?: readonly string[] }).audiences).toEqual(answered);
  });
});
