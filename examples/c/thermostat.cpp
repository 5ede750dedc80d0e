// The thermostat of thermostat.c in C++17, without exceptions, type information and the heap.
#include <mcp_sansio.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include <poll.h>
#include <unistd.h>

enum tool : size_t { MEASURE, SET_TARGET, HEAT };

// name, title, description, schemas of the arguments and of the result, hints
static constexpr std::array<mcp_tool, 3> tools{{
    {"measure", nullptr, "Measures the temperature", nullptr,
     R"({"type":"object","properties":{"celsius":{"type":"number"}},)"
     R"("required":["celsius"]})", MCP_READ_ONLY},
    {"set_target", nullptr, "Sets the temperature to hold",
     R"({"type":"object","properties":{"celsius":{"type":"number","minimum":5,)"
     R"("maximum":30}},"required":["celsius"]})", nullptr,
     MCP_NOT_DESTRUCTIVE | MCP_IDEMPOTENT},
    {"heat", nullptr, "Heats for some seconds, and answers when that is done",
     R"({"type":"object","properties":{"seconds":{"type":"integer","minimum":1,)"
     R"("maximum":60}},"required":["seconds"]})", nullptr, 0},
}};
static constexpr std::array<mcp_resource, 1> resources{{
    {"thermostat://state", "state", nullptr, "What the thermostat does", "text/plain"},
}};
static constexpr mcp_config config =
    mcp::config("thermostat", "1.0.0", tools, "A thermostat for one room.");

static mcp::server<4096, 512> server;
static double celsius = 19.5, target = 20;
static struct { uint64_t request, next; int32_t seconds, passed; } heating; // one at a time

static uint64_t now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return uint64_t(time.tv_sec) * 1000 + uint64_t(time.tv_nsec) / 1000000;
}

// Writes what waits to be written. Returns false if the peer is gone.
static bool flush() {
    for (auto out = server.output(); out.size > 0; out = server.output()) {
        const ssize_t written = write(STDOUT_FILENO, out.data, out.size);
        if (written < 0 && errno != EINTR && errno != EAGAIN) return false;
        pollfd ready{STDOUT_FILENO, POLLOUT, 0};
        if (written < 0) poll(&ready, 1, -1);
        server.wrote(written < 0 ? 0 : size_t(written));
    }
    return true;
}

// Makes an answer. If the peer is gone, the loop ends with its next write.
template <class Answer> static mcp_status reply(Answer answer) { return mcp::send(answer, flush); }

static void call(const mcp::event &event) {
    char text[64];
    if (event.index == MEASURE) {
        snprintf(text, sizeof text, R"({"celsius":%.1f})", celsius);
        reply([&] { return server.reply_json(event.request, text); });
    } else if (event.index == SET_TARGET) {
        target = server.arg<double>("celsius").value_or(target); // the schema has checked it
        snprintf(text, sizeof text, "The target is %.1f degrees", target);
        reply([&] { return server.reply_text(event.request, text); });
    } else if (heating.request) {
        const char *busy = "It is heating already: wait, and try again";
        reply([&] { return server.reply_error(event.request, busy); });
    } else {
        heating = {event.request, now() + 1000, server.arg<int32_t>("seconds").value_or(1), 0};
    }
}

// Goes on with the slow tool.
static void work() {
    if (!heating.request || now() < heating.next) return;
    heating.next += 1000;
    celsius += 0.1;
    const auto done = [] { return server.reply_text(heating.request, "It is warmer now"); };
    if (++heating.passed < heating.seconds)
        server.progress(heating.request, uint32_t(heating.passed), uint32_t(heating.seconds),
                        "heating");
    else if (reply(done) == MCP_BUSY) heating.next = now(); // in the middle of a list: again, soon
    else heating.request = 0;
}

// Writes, or waits and reads. Returns false if the peer is gone.
static bool exchange() {
    if (server.output().size > 0) return flush(); // something may have waited for the room
    const auto in = server.input();
    const uint64_t time = now(), own = heating.request ? heating.next : UINT64_MAX;
    const uint64_t due = std::min({server.due(), own, time + 60000});
    pollfd ready{in.size > 0 ? STDIN_FILENO : -1, POLLIN, 0}; // -1: only waits
    if (poll(&ready, 1, due > time ? int(due - time) : 0) <= 0) return true;
    const ssize_t count = read(STDIN_FILENO, in.data, in.size);
    if (count > 0) server.read(size_t(count));
    else if (count == 0) server.end_of_input();
    return true;
}

static int serve() {
    for (;;) {
        work();
        const mcp::event event = server.next(now());
        const auto state = [&] {
            const char *text = heating.request ? "heating" : "idle";
            return server.reply_contents(event.request, nullptr, "text/plain", text);
        };
        switch (event.step) {
        case mcp::step::tool: call(event); break;
        case mcp::step::resource: reply(state); break;
        case mcp::step::cancelled: if (event.request == heating.request) heating.request = 0; break;
        case mcp::step::io: if (!exchange()) return 1; break;
        case mcp::step::closed: return 0;
        default: break;
        }
    }
}

int main(int count, char **arguments) {
    mcp::status made = server.init(config);
    if (made == MCP_OK) made = server.resources(resources);
    if (count > 1 && strcmp(arguments[1], "--check") == 0) {
        char mistake[256];
        if (server.check(mistake) == MCP_OK) return 0;
        fprintf(stderr, "%s\n", mistake);
        return 1;
    }
    return made == MCP_OK ? serve() : 1;
}
