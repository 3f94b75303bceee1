// Sends requests whose answers a kube-apiserver 1.36.2 gave to a cluster with stored workloads: each answer is the same. `testdata/answers-1.36` says
// how they were recorded.

import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createServiceAccountKeyPem, serviceAccountKeyFromPem } from "../service-accounts/service-account-key.ts";
import { comparedOf, type RecordedStep } from "../testing/recorded-answers.ts";
import { useClusterSurface } from "../testing/use-cluster-surface.ts";

const directory = new URL("testdata/answers-1.36/", import.meta.url);
/** Kinds whose later answers show the work of a controller. */
const CONTROLLED = /\/(customresourcedefinitions|nodes)(\/|\?|$)/;
/** Recorded in a cluster that has tokens. There, the admission of ServiceAccounts changes pods. */
const TOKENS = "bound-tokens.json";
const files = readdirSync(directory).filter((name) => name.endsWith(".json"));

describe.each(files)("%s", (file) => {
  const steps: readonly RecordedStep[] = JSON.parse(readFileSync(new URL(file, directory), "utf8"));
  const cluster = useClusterSurface(
    file === TOKENS ? serviceAccountKeyFromPem(createServiceAccountKeyPem()) : undefined,
  );

  test.each(steps)("$title", async ({ response, ...request }) => {
    expect(comparedOf(request, await cluster.send(request))).toEqual(response);
    if (CONTROLLED.test(request.path) && !request.path.includes("dryRun")) await cluster.settled();
  });
});
