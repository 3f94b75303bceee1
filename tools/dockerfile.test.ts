import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

it("the image copies the manifest of every package before it installs dependencies", () => {
  const [before = ""] = readFileSync("deploy/Dockerfile", "utf8").split("RUN npm ci");
  for (const name of readdirSync("packages")) {
    expect(before).toContain(`COPY packages/${name}/package.json packages/${name}/\n`);
  }
});
