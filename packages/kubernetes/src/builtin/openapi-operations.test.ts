// The operations that OpenAPI documents have for the kinds of Kubernetes, beside those of kube-apiserver 1.36.2 with its defaults: path, method,
// operation ID, action, kind, and the names of parameters.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createServiceAccountKeyPem, serviceAccountKeyFromPem } from "../service-accounts/service-account-key.ts";
import { useClusterSurface } from "../testing/use-cluster-surface.ts";

type Operation = readonly [id: string, action: string, kind: string, parameters: string];

/** By method and path. */
type Operations = { readonly [operation: string]: Operation };

const recorded: Operations = JSON.parse(
  readFileSync(new URL("testdata/openapi-operations-1.36.json", import.meta.url), "utf8"),
);
/** No kubelet is asked, and no Service is reached: there are no proxies. */
const NOT_SERVED = /\/\{name\}\/proxy(\/\{path\})?$/;

const cluster = useClusterSurface(serviceAccountKeyFromPem(createServiceAccountKeyPem()));
const upstream = Object.fromEntries(Object.entries(recorded).filter(([name]) => !NOT_SERVED.test(name)));

function operationsOf({ paths, parameters: shared = {} }: any): Operations {
  const nameOf = ({ $ref, name }: any): string => ($ref === undefined ? name : shared[$ref.split("/").at(-1)].name);
  return Object.fromEntries(
    Object.entries<any>(paths).flatMap(([path, { parameters: ofPath = [], ...operations }]) =>
      Object.entries<any>(operations).map(([method, operation]): [string, Operation] => {
        const { operationId, parameters = [], requestBody } = operation;
        const { group, version, kind } = operation["x-kubernetes-group-version-kind"] ?? {};
        const names = [...ofPath, ...parameters].map(nameOf).concat(requestBody === undefined ? [] : ["body"]);
        return [
          `${method} ${path}`,
          [
            operationId,
            operation["x-kubernetes-action"] ?? "",
            [group, version, kind].filter((part) => (part ?? "") !== "").join(" "),
            [...new Set(names)].sort().join(" "),
          ],
        ];
      }),
    ),
  );
}

async function read(path: string): Promise<any> {
  const { status, json } = await cluster.send({ method: "GET", path });
  expect(status).toBe(200);
  return json;
}

test("version 2 has the operations of kube-apiserver", async () => {
  expect(operationsOf(await read("/openapi/v2"))).toEqual(upstream);
});

test("version 3 has the operations of kube-apiserver", async () => {
  const { paths } = await read("/openapi/v3");
  const documents: Operations[] = [];
  for (const { serverRelativeURL } of Object.values<any>(paths))
    documents.push(operationsOf(await read(serverRelativeURL)));
  expect(Object.assign({}, ...documents)).toEqual(upstream);
});
