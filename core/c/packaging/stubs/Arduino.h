// What the sketches use of Arduino's functions, on standard input and output of a computer.
#pragma once
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOW, HIGH, OUTPUT };
enum { LED_BUILTIN = 13, A0 = 14 };

inline void pinMode(uint8_t, uint8_t) {}
inline void digitalWrite(uint8_t, uint8_t) {}
inline void analogReadResolution(int) {}
inline int analogRead(uint8_t) { return 222; } // 716 mV
inline unsigned long millis() { return (unsigned long)clock() / (CLOCKS_PER_SEC / 1000); }

struct Port {
    void begin(unsigned long) {}
    size_t write(const uint8_t *bytes, size_t len) { return fwrite(bytes, 1, len, stdout); }
    // Ends the program a while after the input, which on a serial port has no end.
    int available() {
        fflush(stdout);
        if (ended && ++idle > 100) exit(0);
        pollfd input = {STDIN_FILENO, POLLIN, 0};
        if (!full && !ended && poll(&input, 1, 10) > 0) {
            full = ::read(STDIN_FILENO, &byte, 1) == 1;
            ended = !full;
        }
        return full;
    }
    int read() {
        if (!full) return -1;
        full = false;
        return byte;
    }

  private:
    uint8_t byte = 0;
    bool full = false, ended = false;
    int idle = 0;
};
static Port Serial;

void setup();
void loop();
int main() {
    for (setup();;) loop();
}
