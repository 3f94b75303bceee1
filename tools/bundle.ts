// The last step of the build: the console, and the command as a bundle in packages/cli/bundle, which `npm start` and the system tests run.

import { fileURLToPath } from "node:url";
import { bundleModules, ENTRY } from "./release/bundle-command.ts";
import { replaceBuild } from "./replace-build.ts";

const { files } = await bundleModules({ sourcemap: true });
const modes = files.map((file) => ({ ...file, mode: file.name === ENTRY ? 0o755 : 0o644 }));
await replaceBuild(fileURLToPath(new URL("../packages/cli/bundle", import.meta.url)), modes, ENTRY);
