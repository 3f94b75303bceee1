// Writes deploy/kustomize/base/postern.yaml: the Helm chart with its defaults, without Helm's own labels. Run: npm run generate -- kustomize

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { kubernetesTools } from "../test/e2e/testing/kubernetes-tools.ts";
import { kustomizeBase } from "./release/kustomize-base.ts";

const at = (path: string): string => fileURLToPath(new URL(`../deploy/${path}`, import.meta.url));
const { helm } = await kubernetesTools("1.35");
const rendered = execFileSync(helm, ["template", "postern", at("charts/postern"), "--skip-tests"], {
  encoding: "utf8",
});
writeFileSync(at("kustomize/base/postern.yaml"), kustomizeBase(rendered));
