// How the console is built, and served with live reload: `npm run dev -w @postern/console`.

import { defineConfig } from "vite";

/** What the server answers, and the console does not. */
const SERVER = "^/(api|apis|login|oauth|kubernetes|openapi|version|leaks|profile/access-keys|audit/events)(/|\\?|$)";

export default defineConfig({
  resolve: { conditions: ["@postern/source", "module", "browser", "development|production"] },
  build: {
    write: false,
    target: "es2023",
    // Away from the paths of the API, with hashes in their names.
    assetsDir: "console",
    // Everything in a file: the policy of the page takes no data: but for images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 800,
    rolldownOptions: {
      onLog(level, log, report) {
        // "use client" is for servers that render.
        if (log.code !== "MODULE_LEVEL_DIRECTIVE") report(level, log);
      },
    },
  },
  server: {
    proxy: {
      [SERVER]: {
        target: process.env["POSTERN_URL"] ?? "https://127.0.0.1:8443",
        // The server of a laptop has a certificate of its own, and knows itself by its own address.
        secure: false,
        changeOrigin: true,
        headers: { origin: process.env["POSTERN_URL"] ?? "https://127.0.0.1:8443" },
      },
    },
  },
});
