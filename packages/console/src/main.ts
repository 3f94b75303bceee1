// Where the console begins. A browser evaluates a module with all that it imports in one task: imported one after the other, React, the other
// libraries and the console have a task each, between which the browser takes input. The page preloads all of them (vite.config.ts).

import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/components.css";
import "./styles/shell.css";

await import("react-dom/client");
await import("@tanstack/react-query");
await import("@tanstack/react-router");
await import("./app.tsx");
