// Where systems have Chromium, or Chrome instead.

import { existsSync } from "node:fs";

const DEBIAN = "/usr/bin/chromium";
const PATHS = [
  DEBIAN,
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/** Of the first that is there; of none, the path of Debian. */
export const chromiumPath = (): string => PATHS.find((path) => existsSync(path)) ?? DEBIAN;
