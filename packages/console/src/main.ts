// Where the console begins. A browser evaluates a module with all that it imports in one task: imported one after the other, React, the other
// libraries and the console have a task each, between which the browser takes input. The page preloads all of them (vite.config.ts).

import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/components.css";
import "./styles/plots.css";
import "./styles/shell.css";

// Named, so that the bundler leaves out the exports that nothing imports.
const libraries = [
  () => import("react-dom/client").then(({ createRoot }) => createRoot),
  () => import("@tanstack/react-query").then(({ QueryClient }) => QueryClient),
  () => import("@tanstack/react-router").then(({ createRouter }) => createRouter),
];
for (const load of libraries) await load();
await import("./app.tsx");
