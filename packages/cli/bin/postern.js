#!/usr/bin/env node
// The command as npm links it into node_modules/.bin: at installation, when nothing is built that could be linked.
import "../bundle/postern.js";
