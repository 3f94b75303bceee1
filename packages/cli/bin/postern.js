#!/usr/bin/env node
// The command as npm links it into node_modules/.bin: at installation, when nothing is built that could be linked.
import { existsSync } from "node:fs";

if (existsSync(new URL("../bundle/postern.js", import.meta.url))) await import("../bundle/postern.js");
else {
  process.stderr.write("postern: the command is not built yet: run npm run build, or npm start for a server\n");
  process.exitCode = 1;
}
