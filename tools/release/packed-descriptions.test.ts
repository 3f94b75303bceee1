import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, it } from "vitest";
import { descriptionTexts } from "../../packages/kubernetes/src/builtin/published/description-texts.ts";
import { PACKED_DESCRIPTIONS } from "./bundle-command.ts";

it("has the same texts in a fifth of the bytes", async () => {
  const { outputFiles } = await build({
    entryPoints: [
      fileURLToPath(new URL("../../packages/kubernetes/src/builtin/published/description-texts.ts", import.meta.url)),
    ],
    ...{ bundle: true, platform: "node", format: "esm", write: false },
    plugins: [PACKED_DESCRIPTIONS],
  });
  const [file] = outputFiles ?? [];
  const texts = descriptionTexts();
  expect(file?.text.length).toBeLessThan(texts.length / 4);
  const packed = await import(`data:text/javascript,${encodeURIComponent(file?.text ?? "")}`);
  expect(packed.descriptionTexts() === texts).toBe(true);
});
