// The kubectl and the helm of each release are what they say, however many ask for them at the same time.

import { expect, it } from "vitest";
import { KUBERNETES_RELEASES, kubernetesTools } from "./testing/kubernetes-tools.ts";
import { succeed, tool } from "./testing/postern-process.ts";

it.each(KUBERNETES_RELEASES)("kubectl %s and its helm run", async (release) => {
  const [first, ...others] = await Promise.all([1, 2, 3].map(() => kubernetesTools(release)));
  expect(others).toEqual([first, first]);
  const version = await succeed(tool(first?.kubectl ?? "", ["version", "--client"]));
  expect(version).toContain(`Client Version: v${release}.`);
  expect(await succeed(tool(first?.helm ?? "", ["version", "--short"]))).toMatch(
    release === "1.32" ? /^v3\./ : /^v4\./,
  );
});
