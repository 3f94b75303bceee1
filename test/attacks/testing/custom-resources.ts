// Custom resources in an embedded cluster, with lists by keys, defaults, expressions, subresources and selectable fields in their schemas.

import { readFile } from "node:fs/promises";
import { parseAllDocuments } from "yaml";
import type { RunningPlatform } from "../../../packages/platform/src/testing/running-platform.ts";

const MANIFESTS = new URL("../../conformance/testdata/custom-resource-definitions.yaml", import.meta.url);
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** Resolves when they are served and described. `surface` stands in front of the paths of the cluster. */
export async function customResources(
  platform: Pick<RunningPlatform, "send" | "until">,
  surface: string,
): Promise<void> {
  for (const document of parseAllDocuments(await readFile(MANIFESTS, "utf8"))) {
    const definition = document.toJS();
    const { status, text } = await platform.send({ path: `${surface}${DEFINITIONS}`, body: definition });
    if (status !== 201) throw new Error(text);
    const { group, names, versions } = definition.spec;
    for (const { name } of versions) {
      const described = { path: `${surface}/openapi/v3/apis/${group}/${name}` };
      await platform.until(described, (answer) => answer.text.includes(`"${names.kind}"`));
    }
  }
}
