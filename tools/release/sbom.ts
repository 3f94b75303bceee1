// The software bill of materials of a bundle: every package with code inside, with licence and hash (CycloneDX 1.6).

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Enums, Models, Serialize, Spec } from "@cyclonedx/cyclonedx-library";
import { readBuildInfo } from "./build-info.ts";
import { REPOSITORY } from "./bundle-command.ts";
import { thirdPartyPackages } from "./third-party.ts";

/** Returns JSON. `node`: the version of the included Node, if any. */
export function billOfMaterials(inputs: readonly string[], node?: string): string {
  const { version, date } = readBuildInfo();
  const bom = new Models.Bom();
  bom.metadata.timestamp = new Date(date);
  bom.metadata.component = component(Enums.ComponentType.Application, "postern", version, "Apache-2.0");
  const integrity = lockedIntegrity();
  for (const { name, version, license, folder } of thirdPartyPackages(inputs)) {
    const library = component(Enums.ComponentType.Library, name, version, license);
    const [algorithm, digest = ""] = integrity.get(folder)?.split("-") ?? [];
    if (algorithm === "sha512")
      library.hashes.set(Enums.HashAlgorithm["SHA-512"], Buffer.from(digest, "base64").toString("hex"));
    bom.components.add(library);
    bom.metadata.component.dependencies.add(library.bomRef);
  }
  if (node !== undefined) {
    const runtime = new Models.Component(Enums.ComponentType.Platform, "node", {
      version: node,
      bomRef: `node@${node}`,
    });
    bom.components.add(runtime);
    bom.metadata.component.dependencies.add(runtime.bomRef);
  }
  const normalizers = new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6);
  return new Serialize.JsonSerializer(normalizers).serialize(bom, { sortLists: true, space: 2 });
}

function component(type: Enums.ComponentType, fullName: string, version: string, license: string): Models.Component {
  const [group, name] = fullName.startsWith("@") ? fullName.split("/") : [undefined, fullName];
  const purl = `pkg:npm/${fullName.replace("@", "%40")}@${version}`;
  const made = new Models.Component(type, name ?? fullName, { version, bomRef: purl, ...(group && { group }) });
  made.licenses.add(new Models.LicenseExpression(license));
  return made;
}

/** The integrity values of package-lock.json, such as `sha512-…`, by folder. */
function lockedIntegrity(): ReadonlyMap<string, string> {
  const { packages } = JSON.parse(readFileSync(join(REPOSITORY, "package-lock.json"), "utf8")) as {
    readonly packages: { readonly [folder: string]: { readonly integrity?: string } };
  };
  const entries = Object.entries(packages);
  return new Map(entries.flatMap(([folder, { integrity }]) => (integrity === undefined ? [] : [[folder, integrity]])));
}
