// The five-minute tour of the README in few steps: a key, a kubeconfig of both kinds, their use, and their end.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { kubectlWith, REPOSITORY, succeed, tool } from "../../e2e/testing/postern-process.ts";

const KUBECONFIGS = "/apis/management.postern/v1/namespaces/p-default/virtualclusterinstances/demo/kubeconfig";

/** `directory` is for files of the tour. */
export async function takeTour({ url, dataDir, directory }: { url: string; dataDir: string; directory: string }) {
  const cache = join(directory, "cache");
  await mkdir(cache, { recursive: true });
  const kubectl = kubectlWith(join(dataDir, "admin.kubeconfig"), cache);
  await succeed(
    kubectl(["wait", "--for=jsonpath={.status.phase}=Ready", "-n", "p-default", "virtualclusterinstance/demo"]),
  );
  const create = ["create", "-f", join(REPOSITORY, "examples/ownedaccesskey.yaml"), "-o", "jsonpath={.spec.key}"];
  const key = await succeed(kubectl(create));
  expect(key).toMatch(/^pst_/);

  for (const [name, spec] of [
    ["token", {}],
    ["certificate", { clientCert: true }],
  ] as const) {
    const answer = await succeed(kubectl(["create", "--raw", KUBECONFIGS, "-f", "-"], JSON.stringify({ spec })));
    const file = join(directory, `${name}.yaml`);
    await writeFile(file, JSON.parse(answer).status.kubeConfig);
    const inside = kubectlWith(file, cache);
    await succeed(inside(["create", "configmap", name, "--from-literal=a=b"]));
    expect(await succeed(inside(["get", "configmap", name, "-o", "jsonpath={.data.a}"]))).toBe("b");
  }
  const status = async (): Promise<string> => {
    const args = ["--silent", "--cacert", join(dataDir, "ca.crt"), "--header", `Authorization: Bearer ${key}`];
    const selves = `${url}/apis/management.postern/v1/ownedaccesskeys`;
    return await succeed(tool("curl", [...args, "--output", "/dev/null", "--write-out", "%{http_code}", selves]));
  };
  expect(await status()).toBe("200");
  await succeed(kubectl(["patch", "ownedaccesskey", "my-key", "--type=merge", "-p", '{"spec":{"disabled":true}}']));
  expect(await status()).toBe("401");
}
