import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningPlatform, startPlatform } from "../testing/running-platform.ts";

let platform: RunningPlatform;
beforeAll(async () => {
  platform = await startPlatform();
});
afterAll(() => platform[Symbol.asyncDispose]());

/** Of the metrics that are distinguished by what was asked for. */
async function series(): Promise<readonly string[]> {
  const { text } = await platform.send({ path: "/metrics" });
  return text.split("\n").filter((line) => METRICS.some((metric) => line.startsWith(`${metric}{`)));
}

const METRICS = [
  "apiserver_request_total",
  "apiserver_request_duration_seconds_count",
  "apiserver_response_sizes_count",
  "apiserver_longrunning_requests",
];

it("names that anybody can make up are not kept in metrics (security book 50)", async () => {
  const unknown = (name: string): readonly string[] => [
    `/apis/${name}.example.com/v1/x?watch=true`,
    `/apis/management.postern/${name}/users?watch=true`,
    `/apis/management.postern/v1/${name}?watch=true`,
    `/apis/management.postern/v1/users/x/${name}`,
    `/kubernetes/management/apis/${name}.example.com/v1/x?watch=true`,
    `/kubernetes/project/default/virtualcluster/demo/apis/${name}/v1/x?watch=true`,
    `/${name}`,
  ];
  const ask = async (name: string): Promise<void> => {
    for (const path of unknown(name)) {
      for (const key of ["", platform.adminKey]) await platform.send({ path, key });
    }
  };
  await ask("madeup1");
  // Asking is counted as well.
  await series();
  const known = await series();
  await ask("madeup2");
  await ask("madeup3");
  const found = await series();
  expect(found).toHaveLength(known.length);
  expect(found.join("\n")).not.toMatch(/madeup/);
});

it("counts what there is by its name, subresources included", async () => {
  await platform.send({ path: "ownedaccesskeys/none" });
  await platform.send({
    method: "POST",
    path: "namespaces/p-default/virtualclusterinstances/demo/kubeconfig",
    body: {},
  });
  const counted = (await series()).join("\n");
  expect(counted).toMatch(/verb="GET",.*resource="ownedaccesskeys",subresource=""/);
  expect(counted).toMatch(/verb="POST",.*resource="virtualclusterinstances",subresource="kubeconfig"/);
});
