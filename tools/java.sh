#!/usr/bin/env bash
# Finds a Java 17 or 21, which Spark 4 runs on, and prints its home; installs one where it can (Debian, Ubuntu,
# Fedora as root). Else it says in one line what to install.
set -euo pipefail

# With JAVA_TOOL_OPTIONS set Java says so in a line before its version.
version_of() { "$1/bin/java" -version 2>&1 | sed -nE '/ version "/{s/.* version "([0-9]+).*/\1/p;q;}'; }

find_home() {
  local on_path home
  on_path=$(command -v java || true)
  [ -n "$on_path" ] && on_path=$(dirname "$(dirname "$(readlink -f "$on_path")")")
  for home in "${JAVA_HOME:-}" "$on_path" /usr/lib/jvm/* /Library/Java/JavaVirtualMachines/*/Contents/Home \
              /opt/homebrew/opt/openjdk@*/libexec/openjdk.jdk/Contents/Home; do
    [ -n "$home" ] && [ -x "$home/bin/java" ] || continue
    case "$(version_of "$home")" in
      17 | 21) echo "$home"; return 0 ;;
    esac
  done
  return 1
}

install_java() {
  [ "$(id -u)" = 0 ] || return 1
  if command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq && { apt-get install -y -qq openjdk-17-jre-headless || apt-get install -y -qq openjdk-21-jre-headless; }
  elif command -v dnf >/dev/null; then
    dnf install -y -q java-21-openjdk-headless
  else
    return 1
  fi
}

find_home && exit 0
echo "no Java 17 or 21 found: trying to install one" >&2
install_java >&2 </dev/null || true
find_home && exit 0
echo "Install Java 17 or 21 (Debian: openjdk-17-jre-headless; macOS: brew install openjdk@17) and run this again." >&2
exit 1
